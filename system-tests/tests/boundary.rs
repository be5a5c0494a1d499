//! Every function's arguments and result through a tool, bit by bit, against a made-up MPI library
//! that writes down what it gets. No value here is one that MPI would like: a tool that changes
//! nothing must not care.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mpi_facts::{Abi, Direction, FunctionId, Parameter, ParameterKind};
use test_support::{build_folder, c_type, exported, kept, made, tool, universal};

/// C types of the sizes and register classes of a function's parameters and result.
fn types(function: FunctionId) -> (Vec<&'static str>, &'static str) {
    let parameters = function.parameters().iter();
    (parameters.map(|parameter| c_type(parameter.rust_type())).collect(), c_type(function.result()))
}

fn prototype(prefix: &str, function: FunctionId) -> String {
    let (arguments, result) = types(function);
    let arguments: Vec<_> =
        arguments.iter().enumerate().map(|(i, ty)| format!("{ty} a{i}")).collect();
    let variadic = if function == FunctionId::MPI_Pcontrol { ", ..." } else { "" };
    format!("{result} {prefix}{function}({}{variadic})", arguments.join(", "))
}

/// A library with `MPI_X` and `PMPI_X` for each of the functions.
fn library(name: &str, functions: &[FunctionId]) -> PathBuf {
    library_with(name, functions, &[])
}

fn library_with(name: &str, functions: &[FunctionId], flags: &[&str]) -> PathBuf {
    let mut c = String::from(
        "#include <stdarg.h>\n#include <string.h>\n#include <stdio.h>\n
        unsigned long seen[800][16], calls[800]; unsigned long answer; int early = -1;
        static double as_double(unsigned long bits) { double d; memcpy(&d, &bits, 8); return d; }\n",
    );
    for &function in functions {
        let id = function as usize;
        let (arguments, result) = types(function);
        let _ = writeln!(c, "{} {{ calls[{id}]++;", prototype("P", function));
        for i in 0..arguments.len() {
            let _ = writeln!(c, "seen[{id}][{i}] = a{i};");
        }
        if function == FunctionId::MPI_Pcontrol {
            c.push_str(
                "if (a0 == 77) { va_list l; va_start(l, a0); int i = va_arg(l, int);
                 double d = va_arg(l, double); char *s = va_arg(l, char *); long n = 0; double e = 0;
                 for (int k = 0; k < 12; k++) { n += va_arg(l, long); e += va_arg(l, double); }
                 va_end(l); printf(\"pcontrol %d %g %s %ld %g\\n\", i, d, s, n, e); }\n",
            );
        }
        let value = if result == "double" { "as_double(answer)" } else { "answer" };
        let _ = writeln!(c, "return ({result}){value}; }}");
        let attribute = format!("__attribute__((weak, alias(\"P{function}\")))");
        let _ = writeln!(c, "{} {attribute};", prototype("", function));
    }
    // A constructor that runs before those of preloaded tools.
    c.push_str(
        "unsigned int MPI_Initialized(unsigned long);
        __attribute__((constructor)) static void first(void) { early = MPI_Initialized(0x1234); }\n",
    );
    build(name, &c, &[&["-shared", "-fPIC"], flags].concat())
}

/// Which bits a program passes.
#[derive(Clone, Copy, PartialEq)]
enum Bits {
    /// Any.
    Any,
    /// What a layer that watches completion must be able to look at as MPI does: handles where there is
    /// an address of one. All calls fail, but for those that make a request: with none, there is
    /// nothing to be completed.
    Watchable,
}

/// The expression of an argument that a layer looks at before MPI does, or puts its own in place of.
fn watched(function: FunctionId, position: usize) -> Option<&'static str> {
    let parameters = function.parameters();
    let parameter = &parameters[position];
    let is_pointer = parameter.rust_type().starts_with('*');
    let is_array_of_requests = |parameter: &Parameter| {
        parameter.kind == ParameterKind::Request && parameter.length().is_some()
    };
    match parameter.kind {
        ParameterKind::ArrayLength
            if parameters.get(position + 1).is_some_and(is_array_of_requests) =>
        {
            Some("bits() % 24 - 4")
        }
        // More than 24 handles of any size from there on, or null.
        ParameterKind::Request | ParameterKind::Datatype | ParameterKind::File if is_pointer => {
            Some("(bits() % 8 ? (unsigned long)&pool[bits() % 64] : 0)")
        }
        // None that MPI_STATUS_IGNORE is, for which a layer has a status of its own.
        ParameterKind::Status if is_pointer => Some("(bits() | 2)"),
        _ => None,
    }
}

/// A program that calls each function with random bits, and compares.
fn driver(name: &str, functions: &[FunctionId], library: &Path) -> PathBuf {
    driver_with(name, functions, library, Bits::Any)
}

fn driver_with(name: &str, functions: &[FunctionId], library: &Path, bits: Bits) -> PathBuf {
    let mut c = String::from(
        "#include <stdio.h>\n#include <string.h>\n
        extern unsigned long seen[800][16], calls[800]; extern unsigned long answer; extern int early;
        static unsigned long state = 88172645463325252ul, pool[128]; static int wrong;
        static unsigned long bits(void) { state ^= state << 13; state ^= state >> 7;
            state ^= state << 17; switch (state % 7) { case 0: return 0; case 1: return -1ul;
            default: return state; } }\n",
    );
    for &function in functions {
        let _ = writeln!(c, "{};", prototype("", function));
    }
    for &function in functions {
        let id = function as usize;
        let (arguments, result) = types(function);
        let makes_request = function.parameters().iter().any(|parameter| {
            parameter.kind == ParameterKind::Request && parameter.direction == Direction::Out
        });
        let answer = match bits {
            Bits::Any => "bits()",
            Bits::Watchable if function == FunctionId::MPI_Irecv && makes_request => "0",
            // No error class, so that no statuses tell of errors.
            Bits::Watchable => "bits() | 0x40000000",
        };
        let _ = writeln!(c, "static void call_{id}(void) {{ {result} r, w; answer = {answer};");
        for (i, ty) in arguments.iter().enumerate() {
            let looked_at = watched(function, i).filter(|_| bits == Bits::Watchable);
            let value = match looked_at {
                // A request that MPI has made is there.
                Some(_) if answer == "0" => "&pool[bits() % 64]",
                Some(value) => value,
                None => "bits()",
            };
            let _ = writeln!(c, "{ty} a{i} = ({ty}){value};");
        }
        let names: Vec<_> = (0..arguments.len()).map(|i| format!("a{i}")).collect();
        let same: String =
            (0..arguments.len()).map(|i| format!(" && seen[{id}][{i}] == a{i}")).collect();
        let wanted = if result == "double" { "memcpy(&w, &answer, 8)" } else { "w = answer" };
        let _ = writeln!(
            c,
            "unsigned long before = calls[{id}]; r = {function}({}); {wanted};
             if (!(memcmp(&r, &w, sizeof r) == 0 && calls[{id}] > before{same}))
                 wrong++, printf(\"{function} changed\\n\"); }}",
            names.join(", ")
        );
    }
    c.push_str(
        "int main(void) { for (int i = 0; i < 128; i++) pool[i] = bits();
        for (int round = 0; round < 50; round++) {\n",
    );
    for &function in functions {
        let _ = writeln!(c, "call_{}();", function as usize);
    }
    c.push_str(
        "} printf(\"early %d\\n\", early);
        answer = 0; int p = MPI_Pcontrol(77, 42, 2.5, \"text\", 1l, 1., 2l, 2., 3l, 3., 4l, 4., 5l, 5.,
            6l, 6., 7l, 7., 8l, 8., 9l, 9., 10l, 10., 11l, 11., 12l, 12.);
        printf(\"pcontrol returned %d, wrong %d\\n\", p, wrong); return wrong > 0; }\n",
    );
    let rpath = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    build(name, &c, &[library.to_str().unwrap(), &rpath])
}

fn build(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    kept(name, &(source, flags), &[], |folder| {
        let c = folder.join(format!("{name}.c"));
        fs::write(&c, source).unwrap();
        made(
            Command::new("cc").args(["-O1", "-w", "-o"]).arg(folder.join(name)).arg(c).args(flags),
        );
    })
}

fn run(program: &Path, tools: &[PathBuf], variables: &[(&str, &str)]) -> Output {
    let tools: Vec<_> = tools.iter().map(|tool| tool.display().to_string()).collect();
    Command::new(program)
        .env("LD_PRELOAD", tools.join(" "))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn expect_same(program: &Path, tools: &[PathBuf]) {
    let output = run(program, tools, &[("MPI_TOOL_OUTPUT", "none")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // 1 + 2 + … + 12, twice; the early call got the answer that the library starts with.
    let wanted = "early 0\npcontrol 42 2.5 text 78 78\npcontrol returned 0, wrong 0\n";
    assert_eq!(said, wanted, "with {tools:?}\n{errors}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(errors, "");
}

/// Copies of a tool under other names, since a file is loaded once; in a folder of their own, since
/// a test that wrote over another's copies would change code that is running.
fn copies(name: &str, count: usize) -> Vec<PathBuf> {
    let folder = tempfile::tempdir_in(build_folder()).unwrap().keep();
    (0..count)
        .map(|number| {
            let copy = folder.join(format!("lib{name}_{number}.so"));
            fs::copy(tool(name), &copy).unwrap();
            copy
        })
        .collect()
}

#[test]
fn all_bits_of_all_functions_pass_through() {
    let library = library("libwhole.so", &exported());
    let program = driver("whole", &exported(), &library);
    expect_same(&program, &[]);
    expect_same(&program, &[tool("empty_raw")]);
    expect_same(&program, &[tool("call_counter")]);
    expect_same(&program, &[tool("call_counter"), tool("empty_raw")]);
    expect_same(&program, &[tool("empty_raw"), tool("call_counter")]);
    expect_same(&program, &[tool("empty_high")]);
    expect_same(&program, &[tool("empty_high"), tool("call_counter"), tool("empty_raw")]);
    expect_same(&program, &copies("empty_high", 20));
    // What is made up looks like MPICH.
    if test_support::abi() == Abi::Mpich {
        expect_same(&program, &[universal("empty_raw")]);
        expect_same(&program, &[universal("empty_raw"), universal("call_counter")]);
        expect_same(&program, &[tool("empty_high"), universal("empty_raw"), tool("call_counter")]);
    }
    expect_same(&program, &copies("empty_raw", 10));
    expect_same(&program, &copies("call_counter", 20));
}

/// Where MPI's library has no table that tools read, and where another object has some of its functions under the names for
/// tools, all calls go the way that the dynamic linker has for them.
#[test]
fn functions_are_found_where_the_dynamic_linker_finds_them() {
    let plain = library_with("libplain.so", &exported(), &["-Wl,--hash-style=sysv"]);
    let program = driver("plain", &exported(), &plain);
    expect_same(&program, &[tool("empty_raw")]);
    expect_same(&program, &[tool("call_counter"), tool("empty_raw")]);

    // One that stands before the library in the process, and has one function for tools.
    let library = library("libbehind.so", &exported());
    let program = driver("behind", &exported(), &library);
    let (function, arguments) = (FunctionId::MPI_Send, (0..6).map(|i| format!("a{i}")));
    let before = build(
        "libbefore.so",
        &format!(
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nstatic int sends;
            {} {{ sends++; typedef int (*f)(); f next = (f)dlsym(RTLD_NEXT, \"P{function}\");
                return ((int (*)({}))next)({}); }}
            __attribute__((destructor)) static void end(void) {{ printf(\"before: %d\\n\", sends); }}",
            prototype("P", function),
            types(function).0.join(", "),
            arguments.collect::<Vec<_>>().join(", ")
        ),
        &["-shared", "-fPIC", "-ldl"],
    );
    for tools in [vec![tool("empty_raw"), before.clone()], vec![before, tool("call_counter")]] {
        let output = run(&program, &tools, &[("MPI_TOOL_OUTPUT", "none")]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("wrong 0\n") && said.contains("before: 50\n"), "{said}");
    }
}

/// A layer that looks at requests, statuses and datatypes passes on what it looks at as it came.
#[test]
fn all_bits_pass_through_a_layer_that_watches_completion() {
    let library = library("libwatched.so", &exported());
    let program = driver_with("watched", &exported(), &library, Bits::Watchable);
    expect_same(&program, &[]);
    expect_same(&program, &[tool("bandwidth_counter")]);
    expect_same(&program, &[tool("empty_high"), tool("bandwidth_counter"), tool("call_counter")]);
    expect_same(&program, &copies("bandwidth_counter", 20));
}

#[test]
fn every_level_counts_every_call_of_every_function_once() {
    let library = library("libcounted.so", &exported());
    let program = driver("counted", &exported(), &library);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("%t.csv");
    let mut tools = copies("call_counter", 3);
    tools.insert(1, tool("empty_raw"));
    // The made-up library is never initialized, so each process reports for itself, in parts:
    // MPI_Abort makes a report, and so does the end.
    let output = run(
        &program,
        &tools,
        &[("MPI_TOOL_OUTPUT", path.to_str().unwrap()), ("MPI_TOOL_FORMAT", "csv")],
    );
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(reports.len(), 3, "{reports:?}");
    for report in reports {
        let text = fs::read_to_string(&report).unwrap();
        let counted: BTreeMap<&str, u64> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>())
            .map(|columns| (columns[7], columns[9].parse().unwrap()))
            .collect();
        for function in exported() {
            // One early call of the library's constructor, and one with more arguments.
            let more = [FunctionId::MPI_Initialized, FunctionId::MPI_Pcontrol].contains(&function);
            let wanted = 50 + u64::from(more);
            assert_eq!(counted.get(function.name()), Some(&wanted), "{function} in {report:?}");
        }
    }
}

/// A program that does not see that a function is missing, by a strong reference, as it was linked with
/// another MPI: without a tool it dies at this call.
#[test]
fn a_function_that_the_library_lacks_fails_and_says_so() {
    let all = exported();
    let without_sends: Vec<_> =
        all.iter().copied().filter(|function| *function != FunctionId::MPI_Send).collect();
    // Where the program looks for it, the other one takes its place.
    let whole = build_folder().join("libpartial.so");
    fs::copy(library("libpartial.so", &all), &whole).unwrap();
    let source = "#include <stdio.h>\nextern int early; int MPI_Send();
        int main(void) { int r = MPI_Send(0, 0, 0, 0, 0, 0);
        printf(\"%d\\n\", r > 0 && early == 0); return 0; }";
    let rpath = format!("-Wl,-rpath,{}", whole.parent().unwrap().display());
    // All bound at the start, when the tool does not know yet which MPI there is.
    let program = build("lacking", source, &["-Wl,-z,now", whole.to_str().unwrap(), &rpath]);
    fs::remove_file(&whole).unwrap();
    fs::copy(library("libpartial.so", &without_sends), &whole).unwrap();
    assert_ne!(run(&program, &[], &[]).status.code(), Some(0));
    let output = run(&program, &[tool("empty_raw")], &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("has no MPI_Send; the call failed"), "{errors}");
}

/// Programs ask in three ways which functions there are; with tools the answers are the same.
#[test]
fn what_the_library_lacks_no_tool_has() {
    let every_third: Vec<_> = exported().into_iter().step_by(3).collect();
    let mut c = String::from("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n");
    for function in exported() {
        let _ = writeln!(c, "extern int {function}() __attribute__((weak));");
    }
    c.push_str("static void *volatile data[] = {");
    for function in exported() {
        let _ = write!(c, "(void *){function}, ");
    }
    c.push_str("};\nint main(void) { void *main = dlopen(0, RTLD_LAZY); int n = 0;\n");
    for function in exported() {
        let _ = writeln!(
            c,
            "printf(\"{function} %d%d%d%d\\n\", {function} != 0, data[n++] != 0,
                dlsym(RTLD_DEFAULT, \"{function}\") != 0, dlsym(main, \"{function}\") != 0);"
        );
    }
    c.push_str("return 0; }\n");
    let mut functions = every_third.clone();
    functions.extend([FunctionId::MPI_Init, FunctionId::MPI_Initialized, FunctionId::MPI_Pcontrol]);
    functions.sort_unstable();
    functions.dedup();
    let library = library("libthird.so", &functions);
    let rpath = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    for (name, binding) in [("lazily", "-Wl,-z,lazy"), ("now", "-Wl,-z,now,-z,relro")] {
        let flags = ["-Wl,--no-as-needed", binding, library.to_str().unwrap(), &rpath, "-ldl"];
        let program = build(&format!("asks_{name}"), &c, &flags);
        let without = run(&program, &[], &[]);
        let alone = String::from_utf8_lossy(&without.stdout);
        assert_eq!(alone.matches(" 1111\n").count(), functions.len());
        assert_eq!(alone.matches(" 0000\n").count(), exported().len() - functions.len());
        let mut tools = vec![vec![tool("empty_raw")], copies("empty_raw", 3), vec![tool("qmpi")]];
        tools.push(vec![tool("call_counter"), tool("empty_high"), tool("bandwidth_counter")]);
        if test_support::abi() == Abi::Mpich {
            tools.push(vec![universal("empty_raw")]);
            tools.push(vec![universal("call_counter"), universal("empty_raw")]);
            tools.push(vec![tool("call_counter"), universal("empty_raw")]);
            tools.push(vec![universal("empty_raw"), tool("call_counter")]);
        }
        for tools in tools {
            let output = run(&program, &tools, &[("MPI_TOOL_OUTPUT", "none")]);
            assert_eq!(String::from_utf8_lossy(&output.stdout), alone, "{name}, {tools:?}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        }
    }
}

/// A C tool that answers `MPI_Send` and `MPI_Recv` itself, last in the list.
#[test]
fn a_c_tool_may_stand_last() {
    let library = library("libbelow.so", &exported());
    let program = driver("below", &exported(), &library);
    let c_tool = build(
        "libc_tool.so",
        &format!(
            "#include <stdio.h>\nstatic int sends; {};\n{} {{ sends++; return P{}({}); }}
            __attribute__((destructor)) static void end(void) {{ printf(\"C tool: %d\\n\", sends); }}",
            prototype("P", FunctionId::MPI_Send),
            prototype("", FunctionId::MPI_Send),
            FunctionId::MPI_Send,
            (0..6).map(|i| format!("a{i}")).collect::<Vec<_>>().join(", ")
        ),
        &["-shared", "-fPIC"],
    );
    let tools = [tool("empty_raw"), tool("call_counter"), c_tool];
    let output = run(&program, &tools, &[("MPI_TOOL_OUTPUT", "none")]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("wrong 0\n") && said.contains("C tool: 50\n"), "{said}");
}
