//! `mpi-tool list`

use std::path::Path;

use serde_json::Value;

use crate::common::{abi, mpi_tool, text, tool, universal};

#[test]
fn builds_are_listed_with_their_abi() {
    let outcome = mpi_tool(Path::new("/"), &["list", "--json"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let list: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(list["schema"], "mpi-tool-list/1");
    for (name, file) in [("call-counter", "call_counter"), ("empty-raw", "empty_raw")] {
        let path = tool(file);
        let tools = list["tools"].as_array().unwrap();
        let build = tools.iter().find(|build| build["path"] == text(&path)).unwrap();
        assert_eq!((&build["name"], &build["abi"]), (&name.into(), &abi().into()));
        assert_eq!(build["level"], true);
        assert!(!build["description"].as_str().unwrap().is_empty());
        // MPI_TOOL_PATH comes first.
        let first = tools.iter().find(|build| build["name"] == name && build["abi"] == abi());
        assert_eq!(first.unwrap()["path"], text(&path));
    }
    let path = universal("call_counter");
    let tools = list["tools"].as_array().unwrap();
    let build = tools.iter().find(|build| build["path"] == text(&path)).unwrap();
    assert_eq!((&build["name"], &build["universal"]), (&"call-counter".into(), &true.into()));
    assert!(build["abi"].is_null());
    let outcome = mpi_tool(Path::new("/"), &["list"]);
    assert!(outcome.stdout.contains(&format!("\n  any      {}\n", text(&path))), "{outcome:?}");
    let line = format!("\n  {:<9}{}", abi(), text(&tool("call_counter")));
    assert!(outcome.stdout.contains(&line), "{outcome:?}");
    assert!(
        outcome.stdout.contains("call-counter 0.1.0: Counts the calls of every MPI function\n")
    );
}

#[test]
fn a_tools_options_are_its_own_words() {
    let outcome = mpi_tool(Path::new("/"), &["list", "call-counter"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for words in
        ["MPI_TOOL_OUTPUT ", "MPI_TOOL_CALL_COUNTER_OUTPUT and so on", text(&tool("call_counter"))]
    {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
    assert!(!outcome.stdout.contains("libempty_raw.so"));
}
