//! Programs in Fortran with and without tools: mpif.h, the modules mpi and mpi_f08.
//!
//! `cargo xtask test` runs these under Debian's MPICH and Open MPI, whichever is of the ABI that the
//! tools were built for.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::profile::{profile, profiled, source_lines};
use test_support::{Run, kept, made, setting, stranger, tool, universal};

/// The words of a variable.
fn words(variable: &str) -> Vec<String> {
    setting(variable).to_str().unwrap().split_whitespace().map(str::to_owned).collect()
}

/// Compiles `tests/fortran/NAME.F90`, once for all tests that run it. The dialect is how it sees MPI, a macro of
/// `tests/fortran/dialect.h`.
fn compile(name: &str, dialect: &str, parts: &[&str]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fortran");
    let recipe = (dialect, parts, setting("FORTRAN"), setting("FORTRAN_LIBRARIES"));
    kept(name, &recipe, &[&sources], |folder| {
        let compiler = words("FORTRAN");
        let mut fortran = Command::new(&compiler[0]);
        fortran
            .args(&compiler[1..])
            .args(["-g", "-O1", "-cpp", "-w", "-ffree-line-length-none"])
            .args(["-fallow-argument-mismatch", &format!("-D{dialect}")])
            .arg("-I")
            .arg(&sources)
            .arg("-J")
            .arg(folder)
            .args([sources.join("tally.F90"), sources.join(format!("{name}.F90"))])
            .args(parts.iter().map(|part| sources.join(part)))
            .arg("-o")
            .arg(folder.join(name))
            .args(words("FORTRAN_LIBRARIES"));
        made(&mut fortran);
    })
}

fn transparent_and_exact(dialect: &str) {
    let program = compile("calls", dialect, &[]);
    for ranks in [1, 2] {
        let plain = Run::new(&program, ranks).run();
        plain.expect_success("calls");
        // 42 lines a rank, 100 functions and more.
        assert_eq!(plain.lines().len(), 42 * ranks as usize, "{}", plain.stdout);
        assert!(plain.expected.len() > 100);
        let empty = Run::new(&program, ranks).preload(tool("empty_raw")).run();
        assert_eq!((empty.status, empty.lines()), (Some(0), plain.lines()), "{}", empty.stderr);

        let counted = Run::new(&program, ranks).count().run();
        assert_eq!(counted.lines(), plain.lines(), "{}", counted.stderr);
        assert_eq!(counted.counted, counted.expected, "{dialect} on {ranks}");

        // Two tools, of which the second one sees calls of C.
        let both = Run::new(&program, ranks).preload(tool("empty_raw")).count().run();
        assert_eq!(both.lines(), plain.lines(), "{}", both.stderr);
        assert_eq!(both.counted, both.expected, "{dialect} on {ranks}, behind another tool");
    }
    // And as the only level of a stack.
    let run = Run::new(&program, 2);
    let report = run.folder.path().join("report.json").display().to_string();
    let stacked = run
        .preload(tool("qmpi"))
        .variable("TOOLS", tool("call_counter").to_str().unwrap())
        .variable("MPI_TOOL_FORMAT", "json")
        .variable("MPI_TOOL_ALL_RANKS", "1")
        .variable("MPI_TOOL_OUTPUT", &report)
        .run();
    stacked.expect_success("calls in a stack");
    assert_eq!(stacked.counted, stacked.expected, "{dialect} in a stack");
}

#[test]
fn gfortran_mpif_h() {
    transparent_and_exact("MPIF");
}

#[test]
fn gfortran_module_mpi() {
    transparent_and_exact("MODULE");
}

#[test]
fn gfortran_module_mpi_f08() {
    transparent_and_exact("F08");
}

/// The same file under MPICH and Open MPI, whose Fortran libraries have different names and call different
/// functions.
#[test]
fn gfortran_with_universal_builds() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("calls", dialect, &[]);
        let plain = Run::new(&program, 2).run();
        for others in [0, 1, 2] {
            let mut run = Run::new(&program, 2);
            if others == 1 {
                run = run.preload(universal("empty_raw"));
            } else if others == 2 {
                run = run.preload(tool("empty_raw"));
            }
            let counted = run.count_with(&universal("call_counter")).run();
            assert_eq!((counted.status, counted.lines()), (Some(0), plain.lines()), "{dialect}");
            assert_eq!(counted.counted, counted.expected, "{dialect}: {}", counted.stderr);
        }
        let counted = Run::new(&program, 2).preload(universal("empty_raw")).count().run();
        assert_eq!(counted.lines(), plain.lines(), "{dialect}");
        assert_eq!(counted.counted, counted.expected, "{dialect}: {}", counted.stderr);
    }
}

/// A tool of another version exports another `mpi_tool_fortran`, by which tools pass calls with callbacks and
/// attributes on: nobody reads it, and these calls are made and counted once, wherever it stands.
#[test]
fn gfortran_beside_a_tool_of_another_version() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("calls", dialect, &[]);
        let plain = Run::new(&program, 2).run();
        plain.expect_success("calls");
        let run = || Run::new(&program, 2);
        let before = run().preload(stranger()).count();
        let behind = run().count().preload(stranger());
        let between = run().preload(tool("empty_raw")).preload(stranger()).count();
        let before_both = run().preload(stranger()).preload(tool("empty_raw")).count();
        for (place, run) in [
            ("before", before),
            ("behind", behind),
            ("between", between),
            ("before both", before_both),
        ] {
            let outcome = run.run();
            assert_eq!(outcome.status, Some(0), "{dialect}, {place}: {}", outcome.stderr);
            assert_eq!(outcome.lines(), plain.lines(), "{dialect}, {place}: {}", outcome.stderr);
            assert_eq!(outcome.counted, outcome.expected, "{dialect}, {place}");
        }
    }
}

/// Callbacks of generalized requests, arrays of addresses, strings, on three ranks.
#[test]
fn gfortran_callbacks_and_strings() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("more", dialect, &[]);
        let plain = Run::new(&program, 3).run();
        plain.expect_success("more");
        assert_eq!(plain.lines().len(), 3 * 3, "{}", plain.stdout);
        for others in [0, 1] {
            let mut run = Run::new(&program, 3);
            if others == 1 {
                run = run.preload(tool("empty_raw"));
            }
            let counted = run.count().run();
            assert_eq!(counted.lines(), plain.lines(), "{dialect}: {}", counted.stderr);
            let mut calls = counted.counted.clone();
            // What the query function calls is a call, too, as often as MPI calls it.
            for name in ["MPI_Status_set_elements", "MPI_Status_set_cancelled"] {
                assert!(calls.remove(name).is_some(), "{dialect}: {name}");
            }
            // Open MPI converts its status for it by the public functions.
            calls.retain(|name, _| !["MPI_Status_c2f", "MPI_Status_f2c"].contains(&name.as_str()));
            assert_eq!(calls, counted.expected, "{dialect}");
        }
    }
}

/// Datatypes that a tool has converted are there until MPI has looked at them for the last time. Open MPI 4.1's own
/// conversion frees them when the call returns, and the program crashes without a tool.
#[test]
fn gfortran_datatypes_of_what_is_under_way() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("pending", dialect, &[]);
        for ranks in [2, 3] {
            let run = Run::new(&program, ranks).preload(tool("empty_raw")).run();
            run.expect_success("pending");
            let said: Vec<String> =
                (0..ranks).map(|rank| format!("rank {rank} of {ranks}")).collect();
            assert_eq!(run.lines(), said, "{dialect}: {}", run.stderr);
        }
    }
}

/// A call counts once, whichever language it comes from.
#[test]
fn gfortran_and_c() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let counted = Run::new(&compile("mixed", dialect, &["part.c"]), 2).count().run();
        counted.expect_success("mixed");
        assert_eq!(counted.counted["MPI_Allreduce"], 4);
        assert_eq!(counted.counted, counted.expected, "{dialect}");
    }
}

/// Ten messages of 1000 integers from each of two ranks.
#[test]
fn gfortran_bytes() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("bytes", dialect, &[]);
        let run = Run::new(&program, 2);
        let report = run.folder.path().join("report.json").display().to_string();
        let outcome = run
            .preload(tool("bandwidth_counter"))
            .variable("MPI_TOOL_FORMAT", "json")
            .variable("MPI_TOOL_ALL_RANKS", "1")
            .variable("MPI_TOOL_OUTPUT", &report)
            .run();
        outcome.expect_success("bytes");
        let bytes = |class: &str, what: &str| -> u64 {
            let counters = outcome.reports[0]["counters"].as_array().unwrap();
            let of = |counter: &&serde_json::Value| {
                let name = counter["name"].as_str().unwrap();
                counter["class"] == class && counter["unit"] == "bytes" && name.starts_with(what)
            };
            counters.iter().filter(of).map(|counter| counter["total"].as_u64().unwrap()).sum()
        };
        assert_eq!(bytes("point-to-point", "sent"), 2 * 10 * 1000 * 4, "{dialect}");
        assert_eq!(bytes("point-to-point", "received"), 2 * 10 * 1000 * 4, "{dialect}");
    }
}

/// In which line of its source a program of gfortran's calls a function, as `objdump` says. It is not always the call's
/// own line: gfortran 12 gives a call with nothing but the error code the program's first line where the function
/// comes from a module.
fn line_of_call(disassembly: &str, source: &str, function: &str) -> Option<usize> {
    let symbol = format!("<{}_", function.to_lowercase());
    let mut line = None;
    for text in disassembly.lines() {
        if let Some((_, number)) = text.split_once(source) {
            let number = number.strip_prefix(':').and_then(|text| text.split(' ').next());
            line = number.and_then(|number| number.parse().ok()).or(line);
        } else if text.contains("call ") && text.contains(&symbol) {
            return line;
        }
    }
    None
}

/// Calls of Fortran come through the tool's own code, or through MPI's library: the profile's sites are the program's
/// lines all the same, whichever dialect it is.
fn sites_are_fortrans(dialect: &str) {
    let program = compile("bytes", dialect, &[]);
    let run = profiled(Run::new(&program, 2));
    run.run().expect_success("bytes");
    let profile = profile(&run);
    let objdump = Command::new("objdump").args(["-d", "-l"]).arg(&program).output().unwrap();
    let disassembly = String::from_utf8(objdump.stdout).unwrap();
    let in_the_loop = ["MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Sendrecv"];
    let mut seen = 0;
    for row in profile["rows"].as_array().unwrap() {
        let function = row["function"].as_str().unwrap();
        let Some(number) = line_of_call(&disassembly, "bytes.F90", function) else { continue };
        let lines = source_lines(&profile, row);
        assert!(
            lines.starts_with(&format!("bytes.F90:{number} /")),
            "{dialect}: {function} is called in line {number}: {lines}"
        );
        let calls = row["calls"].as_u64().unwrap();
        let expected = if in_the_loop.contains(&function) { 2 * 5 } else { 2 };
        assert_eq!(calls, expected, "{dialect}: {function}");
        seen += 1;
    }
    assert_eq!(seen, 8, "{dialect}: {profile:#}");
}

#[test]
fn gfortran_call_sites() {
    for dialect in ["MPIF", "MODULE", "F08"] {
        sites_are_fortrans(dialect);
    }
}

/// mpi-check names what is wrong, at its line, and finds nothing in what is right.
#[test]
fn gfortran_with_mpi_check() {
    let text = include_str!("fortran/checked.F90");
    let mut names: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.trim().strip_prefix("case (\"") {
            names.push(name.trim_end_matches("\")"));
        }
        if line.trim_start().starts_with(['c', 'i'])
            && let Some((_, class)) = line.rsplit_once(" ! ")
        {
            faults.push((*names.last().unwrap(), class, number + 1));
        }
    }
    let is_right = |name: &str| name.starts_with("right_");
    assert_eq!((names.iter().filter(|name| is_right(name)).count(), faults.len()), (10, 13));
    for dialect in ["MPIF", "MODULE", "F08"] {
        let program = compile("checked", dialect, &[]);
        for name in &names {
            let run = Run::new(&program, 2).arguments(&[name]).preload(tool("mpi_check"));
            let outcome = run.seconds(60).run();
            let said = &outcome.stderr;
            match faults.iter().find(|(wrong, ..)| wrong == name) {
                Some((_, class, line)) => {
                    // One of the finding's two places.
                    let names_it = |of: &str| {
                        of.starts_with(&format!("mpi-check: {class} at "))
                            && of.contains(&format!("checked.F90:{line} "))
                    };
                    assert!(said.lines().any(names_it), "{dialect} {name}: {said}");
                }
                None => {
                    outcome.expect_success(name);
                    assert!(
                        said.contains("mpi-check: nothing was found") && !said.contains("  note: "),
                        "{dialect} {name}: {said}"
                    );
                }
            }
        }
    }
}

/// Callbacks in C++ that leave a call by Fortran's entry point: with every tool as without.
#[test]
fn gfortran_entry_points_can_be_left() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fortran/leaves.cc");
    let recipe = (setting("FORTRAN"), setting("FORTRAN_LIBRARIES"), "leaves");
    let program = kept("leaves", &recipe, &[&source], |folder| {
        let compiler = words("FORTRAN");
        let object = folder.join("leaves.o");
        // The Fortran compiler may know no headers of C++.
        let includes = compiler.iter().filter(|word| word.starts_with("-I"));
        let mut cc = Command::new("cc");
        made(cc.args(["-g", "-O1", "-w", "-c"]).args(includes).arg(&source).arg("-o").arg(&object));
        let mut fortran = Command::new(&compiler[0]);
        fortran.args(&compiler[1..]).arg(&object).arg("-o").arg(folder.join("leaves"));
        made(fortran.args(words("FORTRAN_LIBRARIES")).arg("-lstdc++"));
    });
    let plain = Run::new(&program, 2).run();
    plain.expect_success("leaves");
    let left = "has left: 6 sends, 6 reductions, 1 copies";
    assert_eq!(plain.lines(), [format!("rank 0 {left}"), format!("rank 1 {left}")]);
    let counted = Run::new(&program, 2).count().run();
    for (function, calls) in [("MPI_Send", 12), ("MPI_Reduce_local", 12)] {
        assert_eq!(counted.counted.get(function), Some(&calls), "{function}: {}", counted.stderr);
    }
    let tools = std::fs::read_dir(setting("MPI_TOOLS")).unwrap();
    let tools = tools.map(|entry| entry.unwrap().path());
    for tool in tools.filter(|file| !file.ends_with("libqmpi.so")) {
        let run = Run::new(&program, 2).preload(&tool).variable("MPI_TOOL_OUTPUT", "said").run();
        assert_eq!((run.status, run.lines()), (Some(0), plain.lines()), "{tool:?} {}", run.stderr);
        let levels = tool.display().to_string();
        let run = Run::new(&program, 2).preload(test_support::tool("qmpi"));
        let run = run.variable("TOOLS", &levels).variable("MPI_TOOL_OUTPUT", "said").run();
        assert_eq!((run.status, run.lines()), (Some(0), plain.lines()), "{tool:?} {}", run.stderr);
    }
}
