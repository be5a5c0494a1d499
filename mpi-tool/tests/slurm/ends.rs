//! How a step may end: its status is what it is without tools, and whoever is left says what there is to say.

use std::fs;

use crate::cluster::{is_left_out, mpi_tool_run, on_cluster, srun};
use crate::common::{compile, text};

/// What ends a step that works for half a minute by itself, as a shell's command.
const ENDS: [(&str, &str); 3] = [
    ("scancel", "scancel --name=here"),
    ("term", "scancel --signal=TERM --name=here"),
    ("lost", "scontrol update nodename=n2 state=down reason=test"),
];

#[test]
fn a_step_that_is_ended_has_its_status_and_is_told() {
    let test = "ends::a_step_that_is_ended_has_its_status_and_is_told";
    if is_left_out(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let step = format!("{} -J here -N2 -n4 {} 30", srun(), text(&compile("busy")));
    let exit = format!("{} -N2 -n4 {} 3", srun(), text(&compile("calls")));
    let tools = ["", "call-counter", "mpi-profile", "mpi-check"];
    let mut script = String::new();
    for tool in tools {
        let run =
            if tool.is_empty() { String::new() } else { mpi_tool_run(&format!("--tool {tool}")) };
        script += &format!(
            "{run} {exit} > exit{tool}.out 2> exit{tool}.err; echo $? > exit{tool}.status\n"
        );
        for (name, end) in ENDS {
            let file = format!("{name}{tool}");
            // The node comes back for the next one.
            script += &format!(
                "{run} {step} > {file}.out 2> {file}.err & step=$!\n\
                 until squeue -h -t R -n here | grep -q .; do sleep 0.1; done; sleep 2\n\
                 {end}\nwait $step; echo $? > {file}.status\n\
                 scontrol update nodename=n2 state=idle 2> idle\n\
                 until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done\n"
            );
        }
    }
    fs::write(folder.path().join("all"), script).unwrap();
    let outcome = on_cluster(folder.path(), 2, "sh ./all");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let read = |name: String| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("exit.status".into()), "3\n");
    for tool in &tools[1..] {
        for end in ["exit", "scancel", "term", "lost"] {
            let said = read(format!("{end}{tool}.err"));
            let of =
                |what: &str| [read(format!("{end}{tool}.{what}")), read(format!("{end}.{what}"))];
            let [own, plain] = of("status");
            // Of a step that is ended, srun's status is one of two by chance: the ranks' or, with PMIx, 14.
            let is_ended = end != "exit" && own != "0\n" && plain != "0\n";
            assert!(own == plain || is_ended, "{end}, {tool}: {own}, not {plain}: {said}");
            let [own, plain] = of("out").map(|text| {
                let mut lines: Vec<String> = text
                    .lines()
                    .filter(|line| line.contains("is fine") || line.contains("busy"))
                    .map(Into::into)
                    .collect();
                lines.sort_unstable();
                lines
            });
            assert_eq!(own, plain, "{end}, {tool}: {said}");
            let is_told = match *tool {
                "call-counter" => said.contains("MPI_Iprobe: ") || said.contains("MPI_Barrier: "),
                "mpi-profile" => said.contains("# mpi-profile"),
                _ => said.contains("mpi-check: nothing was found"),
            };
            assert!(
                is_told || said.contains("mpi-tool: no rank on this host left a report"),
                "{end}, {tool}: {said}"
            );
        }
    }
}
