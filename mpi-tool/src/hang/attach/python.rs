//! The Python functions that a thread is in, by the interpreter's memory, and where they are among those of C.

use mpi_tool_python::{Frame, Interpreter, Memory as _, Stack, ThreadState, Unknown};

use super::memory::{Memory, Pages};
use super::unwind::{Python, Way};

/// More functions are not read: the thread may be stopped meanwhile.
const MOST: usize = 256;

/// The functions of a thread. Without functions if it runs none; wrong if the interpreter does not know the thread: of one that is in no Python,
/// nobody asks.
pub(super) fn stack(
    interpreter: &Interpreter,
    memory: &Memory,
    thread: u32,
) -> Result<Stack, Unknown> {
    let pages = &Pages::new(memory);
    let is_it = |state: &ThreadState| match state.kernel {
        Some(kernel) => kernel == u64::from(thread),
        None => is_thread(pages, state.pthread, thread),
    };
    // A thread has several states if there are several interpreters. Only one of them is in use if it has functions alone.
    let states = interpreter.threads(pages, is_it)?;
    if states.is_empty() {
        return Err(Unknown::Wrong);
    }
    let mut found = Stack { is_whole: true, ..Stack::default() };
    for state in &states {
        let stack = interpreter.stack(pages, state, MOST)?;
        match (stack.frames.is_empty(), found.frames.is_empty()) {
            (true, _) => {}
            (false, true) => found = stack,
            (false, false) => return Err(Unknown::Wrong),
        }
    }
    Ok(found)
}

/// Is what `pthread_self` gives that of a thread? The C library's structure for it begins with a header that has its own address, and has the kernel's
/// number of the thread: `struct pthread` in glibc's `nptl/descr.h`, for x86-64. Others are not known.
fn is_thread(pages: &Pages<'_>, pthread: u64, thread: u32) -> bool {
    const SELF: u64 = 16;
    const NUMBER: u64 = 720;
    let mut own = [0; 8];
    let mut number = [0; 4];
    pages.read(pthread.wrapping_add(SELF), &mut own)
        && u64::from_le_bytes(own) == pthread
        && pages.read(pthread.wrapping_add(NUMBER), &mut number)
        && u32::from_le_bytes(number) == thread
}

impl Way {
    /// Puts Python functions in the place of the interpreter's.
    pub(super) fn place(&mut self, python: &Result<Stack, Unknown>) {
        let is_interpreter: Vec<bool> =
            self.frames.iter().map(|frame| frame.image.is_of_python(frame.address)).collect();
        let Some(first) = is_interpreter.iter().position(|is_it| *is_it) else { return };
        let stack = match python {
            Ok(stack) if stack.frames.is_empty() => return,
            Ok(stack) => stack,
            Err(unknown) => {
                self.python = Some(*unknown);
                return;
            }
        };
        let at: Vec<usize> = self
            .frames
            .iter()
            .enumerate()
            .filter(|(_, frame)| frame.image.evaluates_python(frame.address))
            .map(|(at, _)| at)
            .collect();
        let calls: Vec<&[Frame]> = stack.frames.split_inclusive(|frame| frame.is_entry).collect();
        for (frame, is_interpreter) in self.frames.iter_mut().zip(is_interpreter) {
            if is_interpreter {
                frame.python = Python::Hidden;
            }
        }
        // Each call of the interpreter's function has its own, as far as both are known.
        let (is_longer, is_shorter) = (calls.len() > at.len(), calls.len() < at.len());
        let fits = !(is_longer && self.is_whole || is_shorter && stack.is_whole);
        if fits {
            for (at, call) in at.iter().zip(&calls) {
                self.frames[*at].python = Python::Runs(call.to_vec());
            }
            if let Some(last) = at.last() {
                let rest = calls.iter().skip(at.len()).flat_map(|call| call.iter().cloned());
                if let Python::Runs(frames) = &mut self.frames[*last].python {
                    frames.extend(rest);
                }
                self.is_whole &= stack.is_whole;
                return;
            }
        }
        // Which of them have called which functions of C is not known.
        self.frames[first].python = Python::Runs(stack.frames.clone());
        self.is_whole = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mpi_tool_python::{Frame, Stack, Unknown};

    use super::Way;
    use crate::hang::attach::image::{self, Image, Role};
    use crate::hang::attach::unwind::{self, End, Python};

    fn way(functions: &[(&str, u64)], is_whole: bool) -> Way {
        let mut interpreter = Image::made_up(
            "/usr/lib/libpython3.13.so",
            Role::Program,
            &[(0x100, "_PyEval_EvalFrameDefault"), (0x200, "PyObject_Call")],
        );
        interpreter.python = Some(image::Python { runtime: 0, version: None });
        let interpreter = Arc::new(interpreter);
        let library =
            Arc::new(Image::made_up("libpetsc.so", Role::Program, &[(0x100, "SNESSolve")]));
        let frames = functions.iter().zip(1_u64..).map(|((image, address), at)| unwind::Frame {
            image: if *image == "python" { interpreter.clone() } else { library.clone() },
            address: *address,
            stack: at,
            python: Python::Other,
        });
        Way { frames: frames.collect(), is_whole, end: End::Known, python: None }
    }

    fn stack(functions: &[(&str, bool)], is_whole: bool) -> Stack {
        let frames = functions.iter().map(|(name, is_entry)| Frame {
            function: (*name).into(),
            file: "a.py".into(),
            line: Some(1),
            is_entry: *is_entry,
        });
        Stack { frames: frames.collect(), is_whole }
    }

    /// Names of the functions that come out, with those of C.
    fn names(way: &Way) -> Vec<String> {
        way.frames
            .iter()
            .flat_map(|frame| match &frame.python {
                Python::Other => vec![frame.image.name(frame.address).unwrap().to_owned()],
                Python::Hidden => Vec::new(),
                Python::Runs(frames) => frames.iter().map(|frame| frame.function.clone()).collect(),
            })
            .collect()
    }

    /// C that Python has called, and that calls Python: a function of the interpreter for each way in.
    const BOTH: [(&str, u64); 6] = [
        ("c", 0x104),
        ("python", 0x204),
        ("python", 0x108),
        ("c", 0x104),
        ("python", 0x108),
        ("python", 0x204),
    ];

    #[test]
    fn python_is_in_order_with_c() {
        let functions =
            [("residual", false), ("callback", true), ("main", false), ("<module>", true)];
        let mut whole = way(&BOTH, true);
        whole.place(&Ok(stack(&functions, true)));
        assert_eq!(
            names(&whole),
            ["SNESSolve", "residual", "callback", "SNESSolve", "main", "<module>"]
        );
        assert!(whole.is_whole);
        // A way that is cut has less of C.
        let mut cut = way(&BOTH[..3], false);
        cut.place(&Ok(stack(&functions, true)));
        assert_eq!(names(&cut), ["SNESSolve", "residual", "callback", "main", "<module>"]);
        assert!(!cut.is_whole);
    }

    #[test]
    fn what_does_not_fit_is_in_no_order_with_c() {
        let functions = [("residual", true), ("callback", true), ("<module>", true)];
        let mut other = way(&BOTH, true);
        other.place(&Ok(stack(&functions, true)));
        assert_eq!(names(&other), ["SNESSolve", "residual", "callback", "<module>", "SNESSolve"]);
        assert!(!other.is_whole);
    }

    #[test]
    fn without_python_the_way_is_as_it_was() {
        for python in [Ok(stack(&[], true)), Err(Unknown::FreeThreaded)] {
            let mut own = way(&BOTH, true);
            own.place(&python);
            assert!(own.frames.iter().all(|frame| frame.python == Python::Other));
            assert_eq!(own.python, python.err());
        }
        let mut c_only = way(&BOTH[..1], true);
        c_only.place(&Err(Unknown::Wrong));
        assert_eq!(c_only.python, None);
    }
}
