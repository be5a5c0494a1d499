//! What the compiler made of the exported functions: an empty layer is a load and a jump.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mpi_facts::FunctionId;
use mpi_facts::fortran::FortranEntry;
use test_support::{abi, exported, tool};

/// Functions that the tool itself watches, and the one in assembly.
const WATCHED: [FunctionId; 7] = [
    FunctionId::MPI_Init,
    FunctionId::MPI_Init_thread,
    FunctionId::MPI_Session_init,
    FunctionId::MPI_Finalize,
    FunctionId::MPI_Session_finalize,
    FunctionId::MPI_Abort,
    FunctionId::MPI_Pcontrol,
];

/// The instructions of each exported function, up to the first that leaves it.
fn disassembly(tool: &Path) -> BTreeMap<String, Vec<String>> {
    let output = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--section=.text"])
        .arg(tool)
        .output()
        .expect("objdump runs (it comes with the C compiler's binutils)");
    assert!(output.status.success());
    let mut functions = BTreeMap::new();
    let mut current: Option<(String, Vec<String>)> = None;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            current = name.starts_with("MPI_").then(|| (name.to_owned(), Vec::new()));
        } else if let Some((name, instructions)) = &mut current
            && let Some((_, instruction)) = line.split_once(":\t")
        {
            let words: Vec<_> = instruction.split_whitespace().collect();
            instructions.push(words.join(" "));
            if instruction.starts_with("jmp") || instruction.starts_with("ret") {
                functions.insert(name.clone(), instructions.clone());
                current = None;
            }
        }
    }
    functions
}

#[test]
fn a_function_of_an_empty_tool_is_a_load_and_a_jump() {
    for name in ["empty_raw", "empty_high"] {
        functions_are_a_load_and_a_jump(name);
    }
}

/// A high-level layer that shares its code, in functions for which such layers have no method.
#[test]
fn a_function_that_a_layer_cannot_see_is_a_load_and_a_jump() {
    let functions = disassembly(&tool("bandwidth_counter"));
    let exported = exported();
    let unseen = ["MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Comm_c2f", "MPI_T_pvar_read"];
    for function in exported.into_iter().filter(|function| unseen.contains(&function.name())) {
        is_a_load_and_a_jump("bandwidth_counter", function, &functions);
    }
}

fn functions_are_a_load_and_a_jump(name: &str) {
    let functions = disassembly(&tool(name));
    for function in exported().into_iter().filter(|function| !WATCHED.contains(function)) {
        is_a_load_and_a_jump(name, function, &functions);
    }
}

fn is_a_load_and_a_jump(
    name: &str,
    function: FunctionId,
    functions: &BTreeMap<String, Vec<String>>,
) {
    let code = &functions[function.name()];
    assert!(
        code.len() == 2 && code[0].starts_with("mov 0x") && code[1].starts_with("jmp *%"),
        "{name}, {function}: {code:?}"
    );
}

#[test]
fn a_function_of_the_call_counter_is_eight_instructions() {
    let functions = disassembly(&tool("call_counter"));
    for function in exported().into_iter().filter(|function| !WATCHED.contains(function)) {
        let code = &functions[function.name()];
        assert!(
            code.len() <= 8 && code.iter().any(|line| line.starts_with("incq")),
            "{function}: {code:?}"
        );
        assert!(!code.iter().any(|line| line.starts_with("call") || line.starts_with("lock")));
    }
}

/// What a tool needs of other libraries, and what it gives: no MPI, and nothing but MPI's names and the ends of a process.
#[test]
fn a_tool_links_no_mpi_and_exports_all_of_it() {
    for name in ["empty_raw", "empty_high", "call_counter", "bandwidth_counter"] {
        let run = |arguments: &[&str]| {
            let output = Command::new(arguments[0]).args(&arguments[1..]).arg(tool(name)).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let needed = run(&["readelf", "--dynamic"]);
        assert!(!needed.contains("libmpi"), "{needed}");
        let symbols = run(&["nm", "--dynamic", "--defined-only"]);
        let mut symbols: Vec<_> =
            symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
        // What makes it a level of a stack: two tables for ours, and for TUM's library functions
        // that it asks for by name.
        for name in ["mpi_tool_info", "mpi_tool_stack", "get_interceptions"] {
            assert!(symbols.contains(&name), "{name}");
        }
        symbols.retain(|symbol| !symbol.starts_with("mpi_tool_") && *symbol != "get_interceptions");
        symbols.sort_unstable();
        let mut wanted: Vec<_> = exported().into_iter().map(FunctionId::name).collect();
        let fortran: Vec<String> = FortranEntry::all(abi()).map(|entry| entry.name + "_").collect();
        wanted.extend(fortran.iter().map(String::as_str));
        wanted.extend(["_exit", "_Exit"]);
        wanted.sort_unstable();
        assert_eq!(symbols, wanted);
        // A strong reference to MPI would be fatal in a process without it.
        for line in run(&["nm", "--dynamic", "--undefined-only"]).lines() {
            let (kind, symbol) = line.trim().split_once(' ').unwrap();
            let weak = ["w", "v"].contains(&kind);
            assert!(weak || !symbol.contains("MPI"), "{line}");
            assert!(weak || !symbol.contains("mpi_"), "{line}");
        }
    }
}
