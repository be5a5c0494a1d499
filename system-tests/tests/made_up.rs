//! Every function's arguments and result through stacks of all kinds of tools, bit by bit, against a
//! made-up MPI library that writes down what it gets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use mpi_facts::{Abi, FunctionId};
use test_support::{abi, c_type, exported, kept, made, tool};

/// C types of the sizes and register classes of a function's parameters and result.
fn types(function: FunctionId) -> (Vec<&'static str>, &'static str) {
    let parameters = function.parameters().iter();
    (parameters.map(|parameter| c_type(parameter.rust_type())).collect(), c_type(function.result()))
}

fn parameters(function: FunctionId) -> Vec<String> {
    types(function).0.iter().enumerate().map(|(i, ty)| format!("{ty} a{i}")).collect()
}

fn names(function: FunctionId) -> Vec<String> {
    (0..types(function).0.len()).map(|i| format!("a{i}")).collect()
}

fn prototype(prefix: &str, function: FunctionId) -> String {
    let dots = if function == FunctionId::MPI_Pcontrol { ", ..." } else { "" };
    format!("{} {prefix}{function}({}{dots})", types(function).1, parameters(function).join(", "))
}

fn build(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let include = format!("-I{}", stub_headers().display());
    kept(name, &(source, flags, &include), &[], |folder| {
        let c = folder.join(format!("{name}.c"));
        fs::write(&c, source).unwrap();
        let mut cc = Command::new("cc");
        made(cc.args(["-O2", "-w", &include, "-o"]).arg(folder.join(name)).arg(c).args(flags));
    })
}

/// `qmpi.h`, and an `mpi.h` of a library that does not exist.
fn stub_headers() -> PathBuf {
    let qmpi = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../qmpi-shim/include/qmpi.h"));
    let header = kept("qmpi.h", &"with an empty mpi.h", &[qmpi], |folder| {
        fs::write(folder.join("mpi.h"), "").unwrap();
        fs::copy(qmpi, folder.join("qmpi.h")).unwrap();
    });
    header.parent().expect("a file is in a folder").to_owned()
}

/// A library with `MPI_X` and `PMPI_X`, that looks like one of the ABI of the tools.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut c = String::from(
            "#include <stdarg.h>\n#include <stdio.h>\n#include <string.h>\n\
             unsigned long seen[800][16], calls[800], answer;\n\
             static double as_double(unsigned long b) { double d; memcpy(&d, &b, 8); return d; }\n",
        );
        if test_support::is_openmpi() {
            c.push_str("int ompi_mpi_comm_world;\n");
        }
        for function in exported() {
            let id = function as usize;
            let _ = writeln!(c, "{} {{ calls[{id}]++;", prototype("P", function));
            for i in 0..types(function).0.len() {
                let _ = writeln!(c, "seen[{id}][{i}] = a{i};");
            }
            if function == FunctionId::MPI_Pcontrol {
                c.push_str(
                    "if (a0 == 77) { va_list l; va_start(l, a0); int i = va_arg(l, int);
                     double d = va_arg(l, double); char *s = va_arg(l, char *); long n = 0;
                     double e = 0; for (int k = 0; k < 12; k++) { n += va_arg(l, long);
                     e += va_arg(l, double); } va_end(l);
                     printf(\"pcontrol %d %g %s %ld %g\\n\", i, d, s, n, e); }\n",
                );
            }
            let (_, result) = types(function);
            let value = if result == "double" { "as_double(answer)" } else { "answer" };
            let _ = writeln!(
                c,
                "return ({result}){value}; }}\n{} __attribute__((weak, alias(\"P{function}\")));",
                prototype("", function)
            );
        }
        let name = match abi() {
            Abi::Standard => "libmpi_abi.so.1",
            _ => "libmadeup.so",
        };
        build(name, &c, &["-shared", "-fPIC"])
    })
}

/// A program that calls each function 50 times with random bits, and compares.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let mut c = String::from(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             extern unsigned long seen[800][16], calls[800], answer; static int wrong;\n\
             static unsigned long state = 88172645463325252ul;\n\
             static unsigned long bits(void) { state ^= state << 13; state ^= state >> 7;\n\
             state ^= state << 17; switch (state % 7) { case 0: return 0; case 1: return -1ul;\n\
             default: return state; } }\n\
             static unsigned long clock_bits(void) { double d = (bits() >> 34) * 1.000000059604644775390625;\n\
             unsigned long b; memcpy(&b, &d, 8); return b; }\n",
        );
        for function in exported() {
            let id = function as usize;
            let (arguments, result) = types(function);
            let clock = result == "double";
            let _ = writeln!(
                c,
                "{};\nstatic void call_{id}(void) {{ {result} r, w; answer = {};",
                prototype("", function),
                if clock { "clock_bits()" } else { "bits()" },
            );
            for (i, ty) in arguments.iter().enumerate() {
                let _ = writeln!(c, "{ty} a{i} = ({ty})bits();");
            }
            let same: String =
                (0..arguments.len()).map(|i| format!(" && seen[{id}][{i}] == a{i}")).collect();
            let _ = writeln!(
                c,
                "unsigned long before = calls[{id}]; r = {function}({}); {};
                 if (!(memcmp(&r, &w, sizeof r) == 0 && calls[{id}] == before + 1{same}))
                     wrong++, printf(\"{function} changed\\n\"); }}",
                names(function).join(", "),
                if clock { "memcpy(&w, &answer, 8)" } else { "w = answer" },
            );
        }
        c.push_str("int main(void) { char *r = getenv(\"ROUNDS\"); int rounds = r ? atoi(r) : 50;\n\
             for (int round = 0; round < rounds; round++) {\n");
        for function in exported() {
            let _ = writeln!(c, "call_{}();", function as usize);
        }
        c.push_str(
            "} answer = 0; int p = MPI_Pcontrol(77, 42, 2.5, \"text\", 1l, 1., 2l, 2., 3l, 3., 4l, 4.,
             5l, 5., 6l, 6., 7l, 7., 8l, 8., 9l, 9., 10l, 10., 11l, 11., 12l, 12.);
             printf(\"pcontrol returned %d, wrong %d\\n\", p, wrong); return wrong > 0; }\n",
        );
        let library = library();
        let rpath = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
        build("driver", &c, &[library.to_str().unwrap(), &rpath])
    })
}

/// What the driver says if nothing changed: 1 + 2 + … + 12, twice.
const FINE: &str = "pcontrol 42 2.5 text 78 78\npcontrol returned 0, wrong 0\n";

/// A C tool for TUM's QMPI that counts every function, each level in its own context, and says at
/// the end what it counted; with the library's functions, or with a look-up of its own.
fn c_tool(own_look_up: bool) -> PathBuf {
    let name = if own_look_up { "libownlookup.so" } else { "libforeign.so" };
    let mut c = String::from(
        "#include <stdio.h>\n#include \"qmpi.h\"\n\
         struct state { unsigned long calls[NUM_MPI_FUNCS]; int level; };\n\
         static struct state *states[4096]; static int number;\n\
         static struct state *mine(vector *v, int level) { struct state *s = QMPI_GET_CONTEXT(v, level);\n\
         if (!s) { struct state fresh = {{0}, level}; QMPI_SET_CONTEXT(v, level, &fresh, sizeof fresh);\n\
         s = QMPI_GET_CONTEXT(v, level); states[number++] = s; } return s; }\n\
         static const char *names[NUM_MPI_FUNCS];\n",
    );
    let of_tum = |function: &FunctionId| function.tum_qmpi_id().is_some();
    let mut table = String::new();
    for function in exported().into_iter().filter(of_tum) {
        let id = function.tum_qmpi_id().unwrap();
        let (parameter_types, result) = types(function);
        let with = |list: Vec<String>, more: &str| {
            list.into_iter().chain([more.to_owned()]).collect::<Vec<_>>().join(", ")
        };
        // As tools for TUM's library do: whatever it is, it goes through an int.
        let body = if own_look_up {
            let types =
                with(parameter_types.iter().map(|ty| (*ty).to_owned()).collect(), "int, vector *");
            format!(
                "cell next = VECTOR_GET(v, level)->table[{id}];
                 {result} (*f)({types}) = next.func_ptr ? next.func_ptr : QMPI_Array[{id}];
                 return f({});",
                with(names(function), "next.level, v")
            )
        } else {
            let comma = if parameter_types.is_empty() { "" } else { ", " };
            format!(
                "void *next = NULL; QMPI_TABLE_QUERY({id}, &next, VECTOR_GET(v, level)->table);
                 int result = EXEC_FUNC(next, level, {id}, v{comma}{}); return result;",
                names(function).join(", ")
            )
        };
        let _ = writeln!(
            c,
            "{result} T_{function}({}) {{ mine(v, level)->calls[{id}]++; {body} }}",
            with(parameters(function), "int level, vector *v"),
        );
        let _ = writeln!(table, "[{id}] = \"T_{function}\",");
    }
    let _ = writeln!(
        c,
        "static const char *names_[NUM_MPI_FUNCS] = {{ {table} }};
         char *get_interceptions(int id) {{ return names_[id] ? (char *)names_[id] : \"NULL\"; }}
         __attribute__((destructor)) static void end(void) {{
         for (int s = 0; s < number; s++) for (int i = 0; i < NUM_MPI_FUNCS; i++)
         if (states[s]->calls[i]) fprintf(stderr, \"counted %d %s %lu\\n\", states[s]->level,
         names_[i] + 2, states[s]->calls[i]); }}"
    );
    build(name, &c, &["-shared", "-fPIC"])
}

fn foreign() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| c_tool(false))
}

fn own_look_up() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| c_tool(true))
}

fn run(tools: &[&Path], variables: &[(&str, &str)]) -> Output {
    let tools: Vec<_> = tools.iter().map(|tool| tool.to_str().unwrap()).collect();
    let mut command = Command::new(driver());
    command.env("LD_PRELOAD", tool("qmpi"));
    if !tools.is_empty() {
        command.env("TOOLS", tools.join(":"));
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

/// What the levels counted, by level: the C tools' lines, and the Rust tools' reports in a folder.
fn counts(output: &Output, folder: &Path) -> Vec<BTreeMap<String, u64>> {
    let mut levels = BTreeMap::<String, BTreeMap<String, u64>>::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        if let Some(line) = line.strip_prefix("counted ") {
            let words: Vec<_> = line.split(' ').collect();
            let count = words[2].parse().unwrap();
            levels.entry(words[0].into()).or_default().insert(words[1].into(), count);
        }
    }
    for report in fs::read_dir(folder).unwrap() {
        let report = report.unwrap().path();
        let level = levels.entry(report.display().to_string()).or_default();
        for line in fs::read_to_string(&report).unwrap().lines().skip(1) {
            let columns: Vec<_> = line.split(',').collect();
            level.insert(columns[7].into(), columns[9].parse().unwrap());
        }
    }
    levels.into_values().collect()
}

fn expect_counts(tools: &[&Path]) {
    let shown = &tools[..tools.len().min(12)];
    // Each `MPI_Abort` makes a report of each level.
    let rounds: u64 = if tools.len() > 20 { 3 } else { 50 };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("%t.csv");
    let variables = [
        ("MPI_TOOL_OUTPUT", path.to_str().unwrap()),
        ("MPI_TOOL_FORMAT", "csv"),
        ("MPI_TOOL_SIGNALS", "0"),
        ("ROUNDS", &rounds.to_string()),
    ];
    let output = run(tools, &variables);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stdout), FINE, "{shown:?}\n{errors}");
    let counter = tool("call_counter");
    let counting: Vec<_> = tools.iter().filter(|tool| **tool != self::tool("empty_raw")).collect();
    let levels = counts(&output, folder.path());
    assert_eq!(levels.len(), counting.len(), "{shown:?}\n{errors}");
    let rust = counting.iter().filter(|tool| ***tool == counter).count();
    // Reports by files' names sort before the C tools' numbers.
    let (rust_levels, c_levels) = levels.split_at(rust);
    for function in exported() {
        // One call more has more arguments.
        let wanted = rounds + u64::from(function == FunctionId::MPI_Pcontrol);
        for level in rust_levels {
            assert_eq!(level.get(function.name()), Some(&wanted), "{function} in {shown:?}");
        }
        let wanted = function.tum_qmpi_id().map(|_| wanted);
        for level in c_levels {
            assert_eq!(level.get(function.name()).copied(), wanted, "{function} in {shown:?}");
        }
    }
}

#[test]
fn an_empty_stack_changes_nothing() {
    let output = run(&[], &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), FINE);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn every_level_of_every_order_counts_every_call_once() {
    let (counter, empty) = (tool("call_counter"), tool("empty_raw"));
    let (counter, empty) = (counter.as_path(), empty.as_path());
    let (c, own) = (foreign(), own_look_up());
    for one in [counter, empty, c, own] {
        expect_counts(&[one]);
    }
    for first in [counter, empty, c, own] {
        for second in [counter, empty, c, own] {
            expect_counts(&[first, second]);
        }
    }
    expect_counts(&[c, counter, own, empty, c, c, counter, counter, own, own, c]);
}

#[test]
fn levels_that_do_nothing_can_be_kept() {
    let empty = tool("empty_raw");
    let output = run(&[&empty, &empty, foreign(), &empty], &[("QMPI_KEEP", "1")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), FINE, "{errors}");
}

#[test]
fn three_hundred_levels_count() {
    let counter = tool("call_counter");
    expect_counts(&vec![counter.as_path(); 300]);
    expect_counts(&vec![foreign(); 300]);
    let mixed: Vec<_> = (0..300).map(|i| [&counter, foreign(), own_look_up()][i % 3]).collect();
    expect_counts(&mixed);
}

/// The same bytes serve preloaded, and without our library.
#[test]
fn the_same_tool_still_is_a_pmpi_tool() {
    let output = Command::new(driver())
        .env("LD_PRELOAD", tool("call_counter"))
        .env("MPI_TOOL_OUTPUT", "none")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), FINE);
}

/// The layout that TUM's library has, in a library that has nothing of ours: two levels, of which
/// the second comes after the first, and MPI behind it.
#[test]
fn a_tool_runs_in_a_stack_that_is_not_ours() {
    let functions: Vec<_> =
        exported().into_iter().filter(|function| function.tum_qmpi_id().is_some()).collect();
    let mut c = String::from(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         #include <string.h>\n#include \"qmpi.h\"\nstatic vector stack; static int made;\n\
         static void make(void) { made = 1; stack.items = malloc(3 * sizeof *stack.items);\n\
         stack.total = stack.capacity = 3; void *tool = dlopen(getenv(\"TOOL\"), RTLD_NOW | RTLD_LOCAL);\n\
         char *(*ask)(int) = dlsym(tool, \"get_interceptions\");\n\
         for (int level = 0; level < 3; level++) {\n\
         stack.items[level] = malloc(sizeof(struct dynamic_lib));\n\
         /* TUM's library leaves what it does not know as it is. */\n\
         memset(stack.items[level], 0xa5, sizeof(struct dynamic_lib));\n\
         for (int id = 0; id < NUM_MPI_FUNCS; id++) {\n\
         stack.items[level]->table[id].level = level + 1;\n\
         stack.items[level]->table[id].func_ptr = level < 2 ? dlsym(tool, ask(id)) : NULL; } } }\n",
    );
    for function in functions {
        let id = function.tum_qmpi_id().unwrap();
        let (parameter_types, result) = types(function);
        let mut all = parameter_types;
        all.extend(["int", "vector *"]);
        let mut arguments = names(function);
        arguments.extend(["1".into(), "&stack".into()]);
        let _ = writeln!(
            c,
            "{} {{ if (!made) make(); {result} (*f)({}) = stack.items[0]->table[{id}].func_ptr;
             return f({}); }}",
            prototype("", function),
            all.join(", "),
            arguments.join(", "),
        );
    }
    let theirs = build("libtheirs.so", &c, &["-shared", "-fPIC"]);
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(driver())
        .env("LD_PRELOAD", theirs)
        .env("TOOL", tool("call_counter"))
        .env("MPI_TOOL_OUTPUT", folder.path().join("%t.csv"))
        .env("MPI_TOOL_FORMAT", "csv")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // That library, as TUM's, has `MPI_Pcontrol` with its first argument only.
    assert!(said.contains("wrong 0\n"), "{said}\n{errors}");
    let levels = counts(&output, folder.path());
    assert_eq!(levels.len(), 2, "{errors}");
    for function in exported().into_iter().filter(|function| function.tum_qmpi_id().is_some()) {
        let wanted = 50 + u64::from(function == FunctionId::MPI_Pcontrol);
        for level in &levels {
            assert_eq!(level.get(function.name()), Some(&wanted), "{function}");
        }
    }
}

/// TUM's library hands `MPI_Pcontrol` to each level by a loop of its own, with the number of the level in front
/// of it. Each level counts the call once, no level 0 appears, and MPI gets the call once, from the last one.
#[test]
fn pcontrol_in_tums_loop_is_counted_once_by_each_level() {
    let theirs = build(
        "libtumsloop.so",
        "#define _GNU_SOURCE
         #include <dlfcn.h>
         #include <stdio.h>
         #include <stdlib.h>
         #include <string.h>
         #include \"qmpi.h\"
         static vector v; static int pcontrols;
         int PMPI_Pcontrol(int, ...); int PMPI_Init(int *, char ***); int PMPI_Finalize(void);
         /* As `QMPI_Pcontrol` of that library, which is behind the last level. */
         static int below(int first, int level, vector *v) { pcontrols++; return PMPI_Pcontrol(first); }
         static void make(void) {
           char *list = strdup(getenv(\"LEVELS\")); void *tools[16]; int n = 0;
           for (char *path = strtok(list, \":\"); path; path = strtok(NULL, \":\"))
             tools[n++] = dlopen(path, RTLD_NOW);
           v.total = v.capacity = n + 1; v.items = malloc((n + 1) * sizeof *v.items);
           for (int l = 0; l <= n; l++) {
             v.items[l] = malloc(sizeof *v.items[l]); memset(v.items[l], 0xa5, sizeof *v.items[l]);
             for (int id = 0; id < NUM_MPI_FUNCS; id++) v.items[l]->table[id].func_ptr = NULL;
             if (l == n) { if (getenv(\"BELOW\")) { v.items[l]->table[_MPI_Pcontrol].func_ptr = below;
                                                   v.items[l]->table[_MPI_Pcontrol].level = l + 1; } continue; }
             char *(*ask)(int) = dlsym(tools[l], \"get_interceptions\");
             for (int id = 0; id < NUM_MPI_FUNCS; id++) {
               v.items[l]->table[id].level = l + 1;
               v.items[l]->table[id].func_ptr = dlsym(tools[l], ask(id)); } } }
         int MPI_Init(int *c, char ***a) { make(); int (*f)(int *, char ***, int, vector *) =
           v.items[0]->table[_MPI_Init].func_ptr; return f(c, a, 1, &v); }
         int MPI_Pcontrol(const int level, ...) {
           typedef int (*pcontrol)(const int, int, vector *);
           for (int i = 0; i < v.total - 1;) {
             ((pcontrol)VECTOR_GET(&v, i)->table[_MPI_Pcontrol].func_ptr)(level, i, &v);
             i = VECTOR_GET(&v, i)->table[_MPI_Pcontrol].level; }
           return 0; }
         __attribute__((destructor)) static void end(void) {
           fprintf(stderr, \"below all levels: %d\\n\", pcontrols); }",
        &["-shared", "-fPIC"],
    );
    // A tool as TUM's mpiP: it does not pass the call on. At the other functions it is not there.
    let quiet = build(
        "libquiet.so",
        "#include <stdio.h>
         #include \"qmpi.h\"
         static int calls;
         int Q_Pcontrol(const int level, int own, vector *v) { calls++; return 0; }
         int Q_Init(int *c, char ***a, int own, vector *v) {
           int (*f)(int *, char ***, int, vector *) = v->items[own]->table[_MPI_Init].func_ptr;
           return f ? f(c, a, own + 1, v) : 0; }
         char *get_interceptions(int id) { return id == _MPI_Pcontrol ? \"Q_Pcontrol\" :
           id == _MPI_Init ? \"Q_Init\" : \"NULL\"; }
         __attribute__((destructor)) static void end(void) { fprintf(stderr, \"quiet: %d\\n\", calls); }",
        &["-shared", "-fPIC"],
    );
    let library = library();
    let rpath = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    let program = build(
        "pcontrols",
        "#include <stddef.h>
         extern unsigned long calls[]; int MPI_Init(int *, char ***), MPI_Pcontrol(int, ...);
         int main(void) { MPI_Init(NULL, NULL); for (int i = 0; i < 7; i++) MPI_Pcontrol(i, 2.5); return 0; }",
        &[library.to_str().unwrap(), &rpath],
    );
    let counter = tool("call_counter");
    let (ours, theirs_too) = (counter.to_str().unwrap(), quiet.to_str().unwrap());
    for levels in [
        vec![ours],
        vec![ours, ours],
        vec![ours, ours, ours],
        vec![theirs_too, ours, ours],
        vec![ours, theirs_too, ours],
        vec![ours, ours, theirs_too],
    ] {
        for below in [None, Some("1")] {
            let folder = tempfile::tempdir().unwrap();
            let mut command = Command::new(&program);
            command
                .env("LD_PRELOAD", &theirs)
                .env("LEVELS", levels.join(":"))
                .env("MPI_TOOL_OUTPUT", folder.path().join("%t.csv"))
                .env("MPI_TOOL_FORMAT", "csv");
            let output = command.envs(below.map(|value| ("BELOW", value))).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{levels:?}\n{errors}");
            // What was never started would be the level that the loop made up.
            assert!(!errors.contains("never initialized"), "{levels:?}\n{errors}");
            let counted = counts(&output, folder.path());
            let own = levels.iter().filter(|level| **level == ours).count();
            assert_eq!(counted.len(), own, "{levels:?}\n{errors}");
            for level in counted {
                assert_eq!(level.get("MPI_Pcontrol"), Some(&7), "{levels:?}\n{errors}");
                assert_eq!(level.get("MPI_Init"), Some(&1), "{levels:?}\n{errors}");
            }
            if levels.contains(&theirs_too) {
                assert!(errors.contains("quiet: 7\n"), "{levels:?}\n{errors}");
            }
            // The last level passes the call on.
            let reached = if below.is_some() && levels.last() == Some(&ours) { 7 } else { 0 };
            let line = format!("below all levels: {reached}\n");
            assert!(errors.contains(&line), "{levels:?}\n{errors}");
        }
    }
}

/// `qmpi.h` is made from the list, too.
#[test]
fn the_header_has_the_ids_of_the_list() {
    let header =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../qmpi-shim/include/qmpi.h"))
            .unwrap();
    let mut ids: Vec<_> = FunctionId::all()
        .filter_map(|function| Some((function.tum_qmpi_id()?, function)))
        .collect();
    ids.sort_unstable();
    let wanted: String =
        ids.iter().map(|(id, function)| format!("    _{function} = {id},\n")).collect();
    let (_, rest) = header.split_once("typedef enum {\n").unwrap();
    let (found, _) = rest.split_once("} _MPI_funcs;").unwrap();
    assert!(found == wanted, "the ids in qmpi.h should be:\n{wanted}");
}
