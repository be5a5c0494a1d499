//! Python's own traceback says what the crate should say, of random chains of calls in another process, for each Python that is installed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use mpi_tool_python::{Frame, Interpreter, Memory, Stack, ThreadState, Unknown};
use serde_json::Value;

struct Other(File);

impl Memory for Other {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.0.read_exact_at(bytes, address).is_ok()
    }
}

struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
    /// Of the Python: what was started may be a script that leads to it.
    memory: Option<Other>,
}

impl Running {
    fn start(python: &str, numbers: [usize; 3]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chains.py");
        let mut child = Command::new(python)
            .arg(script)
            .args(numbers.map(|number| number.to_string()))
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines: Box::new(output.lines().map(Result::unwrap)), memory: None }
    }

    fn said(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().expect("the script says something")).unwrap()
    }

    fn go_on(&mut self) {
        self.child.stdin.as_ref().unwrap().write_all(b"x").unwrap();
    }

    /// Waits until threads stand where they wait for good: in `read`, or for a lock. A thread that waits for the interpreter's lock is in `futex`, too,
    /// but not for long while nobody runs.
    fn wait_for(&self, threads: &[u64]) {
        let calls = || -> Option<Vec<String>> {
            let call = |thread: &u64| {
                let path = format!("/proc/{}/task/{thread}/syscall", self.child.id());
                let call = std::fs::read_to_string(path).unwrap();
                let is_waiting = call.starts_with("0 ") || call.starts_with("202 ");
                is_waiting.then_some(call)
            };
            threads.iter().map(call).collect()
        };
        let mut before = None;
        loop {
            let now = calls();
            if now.is_some() && now == before {
                return;
            }
            before = now;
            sleep(Duration::from_millis(1));
        }
    }

    fn interpreter(&mut self) -> Interpreter {
        let begin = self.said();
        let version = u32::try_from(begin["version"].as_u64().unwrap()).unwrap();
        let memory = Other(File::open(format!("/proc/{}/mem", self.child.id())).unwrap());
        let memory = self.memory.insert(memory);
        Interpreter::new(memory, begin["runtime"].as_u64().unwrap(), Some(version)).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What it needs: `_PyRuntime` by `ctypes`, of a CPython with the lock.
const PROBE: &str = r#"
import ctypes, sys, sysconfig
ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")
assert sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(*sys.version_info[:2], sys.prefix)
"#;

/// The Pythons that run here, of which several names may lead to one.
fn pythons() -> Vec<String> {
    let mut names: Vec<_> = (9..=14).map(|minor| format!("python3.{minor}")).collect();
    names.extend(["python3".into(), "/usr/bin/python3".into()]);
    // `pyenv` has others than those in PATH.
    if let Ok(output) = Command::new("pyenv").arg("root").output() {
        let versions = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("versions");
        let folders = std::fs::read_dir(versions).into_iter().flatten().flatten();
        names.extend(
            folders.map(|folder| folder.path().join("bin/python3").to_string_lossy().into_owned()),
        );
    }
    let mut found: HashMap<String, String> = HashMap::new();
    for name in names {
        let Ok(output) = Command::new(&name).args(["-c", PROBE]).output() else {
            continue;
        };
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && is_known(&version) {
            found.insert(version, name);
        }
    }
    if found.is_empty() {
        eprintln!("No CPython 3.9 to 3.14 with ctypes is in PATH: nothing is compared.");
    }
    found.into_values().collect()
}

/// `3 11 /usr`
fn is_known(version: &str) -> bool {
    let mut words = version.split(' ');
    let minor = words.nth(1).and_then(|minor| minor.parse().ok());
    version.starts_with("3 ") && minor.is_some_and(|minor: u32| (9..=14).contains(&minor))
}

/// Function, file, and line.
fn plain(stack: &Stack) -> Vec<(String, String, Option<u64>)> {
    let frames = stack.frames.iter();
    frames.map(|it| (it.function.clone(), it.file.clone(), it.line.map(u64::from))).collect()
}

fn of_python(told: &Value) -> Vec<(String, String, Option<u64>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let frames = told.as_array().unwrap().iter();
    frames.map(|it| (text(&it[0]), text(&it[1]), it[2].as_u64())).collect()
}

#[test]
fn frames_are_those_of_the_traceback() {
    for python in pythons() {
        let mut running = Running::start(&python, [1, 500, 12]);
        let interpreter = running.interpreter();
        running.go_on();
        let (mut compared, mut frames) = (0, 0);
        loop {
            let said = running.said();
            let Some(threads) = said["threads"].as_object() else { break };
            let kernel = said["kernel"].as_object().unwrap();
            let waiting: Vec<u64> = kernel
                .values()
                .map(|it| it.as_u64().unwrap())
                .chain([running.child.id().into()])
                .collect();
            running.wait_for(&waiting);
            for (id, told) in threads {
                let memory = running.memory.as_ref().unwrap();
                let id: u64 = id.parse().unwrap();
                let found = interpreter.threads(memory, |thread| thread.pthread == id).unwrap();
                let [thread] = &found[..] else { panic!("{python}: {found:?}") };
                let kernel = said["kernel"][id.to_string()].as_u64();
                assert!(thread.kernel.is_none() || thread.kernel == kernel, "{python}");
                let stack = interpreter.stack(memory, thread, 10_000).unwrap();
                let told = of_python(told);
                // The function that waits is further in, and of those that threads are started by, Python has no frames.
                let at = stack.frames.len() - told.len();
                assert!((1..=2).contains(&at), "{python}: {stack:#?}");
                assert_eq!(plain(&stack)[at..], told[..], "{python}, stack {compared}");
                assert!(stack.is_whole);
                compared += 1;
                frames += told.len();
                check_trail(&interpreter, memory, thread, &stack);
            }
            running.go_on();
        }
        assert_eq!(compared, 500 + 12 * 8, "{python}");
        assert!(frames > 10 * compared, "{python}");
        assert!(running.child.wait().unwrap().success());
    }
}

/// All words and bytes of a trail are there as long as the thread stands.
fn check_trail(interpreter: &Interpreter, memory: &Other, thread: &ThreadState, all: &Stack) {
    let first = all.frames.iter().position(|frame| frame.function == "leaf").unwrap();
    let end = all.frames.len().min(first + 3);
    let is_leaf = |frame: &Frame| frame.function == "leaf";
    let (stack, trail) = interpreter.stack_with_trail(memory, thread, 3, is_leaf).unwrap();
    assert_eq!(plain(&stack), plain(all)[first..end]);
    for (address, word) in trail.words.iter().map(|[address, word]| (address, word)) {
        let mut bytes = [0; 8];
        assert!(memory.read(*address, &mut bytes) && u64::from_le_bytes(bytes) == *word);
    }
    for (address, expected) in &trail.bytes {
        let mut bytes = vec![0; expected.len()];
        assert!(memory.read(*address, &mut bytes) && bytes == *expected);
    }
}

/// Memory of which some words are others than they should be.
struct Broken<'a> {
    memory: &'a Other,
    address: u64,
    by: u64,
}

impl Memory for Broken<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let is_read = self.memory.read(address, bytes);
        for (at, byte) in bytes.iter_mut().enumerate() {
            let at = address.wrapping_add(at as u64);
            if (self.address..self.address + 8).contains(&at) {
                *byte = self.by.to_le_bytes()[(at - self.address) as usize];
            }
        }
        is_read
    }
}

/// Wrong memory makes frames fewer; it ends, without a panic.
#[test]
fn what_cannot_be_right_ends_the_walk() {
    for python in pythons() {
        let mut running = Running::start(&python, [2, 3, 0]);
        let interpreter = running.interpreter();
        running.go_on();
        let said = running.said();
        let memory = running.memory.as_ref().unwrap();
        let id: u64 = said["threads"].as_object().unwrap().keys().next().unwrap().parse().unwrap();
        let thread = interpreter.threads(memory, |thread| thread.pthread == id).unwrap()[0];
        running.wait_for(&[running.child.id().into()]);
        let (whole, trail) = interpreter.stack_with_trail(memory, &thread, 100, |_| true).unwrap();
        let mut ended = 0;
        for [address, word] in trail.words {
            for by in [0, 1, 8, u64::MAX, u64::MAX << 3, word ^ 0x100, word + 0x7000_0000_0000] {
                let broken = Broken { memory, address, by };
                match interpreter.stack_with_trail(&broken, &thread, 100, |_| true) {
                    Ok((stack, other)) => {
                        assert!(stack.frames.len() <= 10_000);
                        // What differs is noticed by those who know these frames.
                        let is_noticed = other.words.contains(&[address, by]);
                        assert!(
                            stack == whole || is_noticed || !stack.is_whole,
                            "{python}: {address:#x} {word:#x} {by:#x} {stack:#?} {whole:#?}"
                        );
                        ended += usize::from(!stack.is_whole);
                    }
                    Err(error) => {
                        assert!(matches!(error, Unknown::Memory | Unknown::Wrong), "{error}");
                        ended += 1;
                    }
                }
            }
        }
        assert!(ended > 10, "{python}: {ended}");
        assert_eq!(
            Interpreter::new(memory, 8, None).unwrap_err(),
            Unknown::Memory,
            "nothing is there"
        );
        running.go_on();
    }
}

/// Without a table, a version is needed.
#[test]
fn versions_that_are_not_known_are_refused() {
    struct Zeros;
    impl Memory for Zeros {
        fn read(&self, _: u64, bytes: &mut [u8]) -> bool {
            bytes.fill(0);
            true
        }
    }
    for version in [None, Some(0x0308_0000), Some(0x030d_0000), Some(0x0209_0000)] {
        assert_eq!(Interpreter::new(&Zeros, 64, version).unwrap_err(), Unknown::Version);
    }
    assert_eq!(Interpreter::new(&Zeros, 64, Some(0x030b_02f0)).unwrap().minor(), 11);
}
