//! The way of a thread through functions, by its registers and a copy of its stack: nobody is stopped for that.

use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use mpi_facts::FunctionId;
use mpi_tool_python::{Interpreter, Stack, Unknown, version_by_name};

use super::image::{Image, Images, Role};
use super::maps::Mapping;
use super::memory::{Memory, Pages};
use super::trace::Registers;
use crate::report::symbols::Place;
use crate::words;

/// More functions than that are not followed.
const DEEPEST: usize = 1024;

/// A thread's registers, and what was on its stack.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) registers: Registers,
    pub(super) begin: u64,
    pub(super) stack: Vec<u8>,
    /// The Python functions, of a process with an interpreter.
    pub(super) python: Option<Result<Stack, Unknown>>,
}

/// What a process has loaded.
pub(super) struct Loaded {
    parts: Vec<(Mapping, u64, Arc<Image>)>,
    unwinder: UnwinderX86_64<Arc<[u8]>>,
}

/// A function that a thread is in.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) image: Arc<Image>,
    /// In the file's own addresses: the instruction, or the call that is not over.
    pub(super) address: u64,
    /// What the stack's end was when that function called another one.
    pub(super) stack: u64,
    /// What stands in its place, if it belongs to Python's interpreter.
    pub(super) python: Python,
}

/// What a function is to Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Python {
    /// Nothing.
    Other,
    /// The interpreter's, of which nobody needs to know.
    Hidden,
    /// The interpreter's, which runs these Python functions.
    Runs(Vec<mpi_tool_python::Frame>),
}

impl Frame {
    pub(super) fn role(&self) -> Role {
        self.image.role
    }

    pub(super) fn function_of_mpi(&self) -> Option<FunctionId> {
        self.image.function_of_mpi(self.address)
    }

    /// What tells it from others of a thread.
    pub(super) fn at(&self) -> (u64, u64, &Python) {
        (self.address, self.stack, &self.python)
    }

    pub(super) fn place(&self) -> Place {
        Place::new(self.image.path.clone(), self.image.build_id.clone(), self.address)
    }
}

/// The functions that a thread is in, the innermost first.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) frames: Vec<Frame>,
    /// It leads to where the thread has begun.
    pub(super) is_whole: bool,
    pub(super) end: End,
    /// Why the Python functions are not known, if it leads through an interpreter.
    pub(super) python: Option<Unknown>,
}

/// Why a way goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A register is needed that is known of a thread only that was stopped.
    NeedsFrame,
    /// The thread has begun there, or no more can be known.
    Known,
}

/// In place of the frame register where that is not known. An odd number is where nothing is on the stack: so it ends the way.
const UNKNOWN: u64 = 1;

impl Loaded {
    pub(super) fn new(pid: u32, maps: &[Mapping], memory: &Memory, images: &mut Images) -> Self {
        let mut loaded = Self { parts: Vec::new(), unwinder: UnwinderX86_64::new() };
        let mut known: Vec<(u64, String)> = Vec::new();
        for mapping in maps.iter().filter(|mapping| mapping.is_code) {
            let image = if mapping.path == "[vdso]" {
                let length = mapping.addresses.end - mapping.addresses.start;
                images.of_kernel(|| memory.read(mapping.addresses.start, length))
            } else {
                images.of(pid, mapping, memory)
            };
            let Some(image) = image else { continue };
            let Some(base) = image.base(mapping) else { continue };
            if !known.contains(&(base, mapping.path.clone())) {
                known.push((base, mapping.path.clone()));
                loaded.add(&image, base);
            }
            loaded.parts.push((mapping.clone(), base, image));
        }
        loaded
    }

    fn add(&mut self, image: &Image, base: u64) {
        let Some(frames) = &image.frames else { return };
        let index = image.frames_index.as_ref();
        let sections = ExplicitModuleSectionInfo {
            eh_frame_svma: Some(frames.addresses.clone()),
            eh_frame: Some(frames.bytes.clone()),
            eh_frame_hdr_svma: index.map(|index| index.addresses.clone()),
            eh_frame_hdr: index.map(|index| index.bytes.clone()),
            ..ExplicitModuleSectionInfo::default()
        };
        let module = Module::new(image.path.clone(), image.extent(base), base, sections);
        self.unwinder.add_module(module);
    }

    /// The interpreter of Python, if there is one.
    pub(super) fn interpreter(&self, memory: &Memory) -> Option<Result<Interpreter, Unknown>> {
        let (mapping, base, image, python) = self
            .parts
            .iter()
            .find_map(|(mapping, base, image)| Some((mapping, base, image, image.python?)))?;
        let version = python.version.and_then(|at| {
            let bytes = memory.read(base.wrapping_add(at), 4);
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        });
        let by_name = [&mapping.path, &image.path].map(|path| version_by_name(words::base(path)));
        let version = version.or(by_name[0]).or(by_name[1]);
        let runtime = base.wrapping_add(python.runtime);
        Some(Interpreter::new(&Pages::new(memory), runtime, version))
    }

    fn of(&self, address: u64) -> Option<(&Arc<Image>, u64)> {
        let part = self.parts.iter().find(|(mapping, ..)| mapping.addresses.contains(&address));
        part.map(|(_, base, image)| (image, address.wrapping_sub(*base)))
    }

    /// The way by a copy of the stack. A caller that cannot be one ends it: what is not known is not guessed.
    pub(super) fn way(&self, copied: &Copied) -> Way {
        let Registers { instruction, stack, frame } = copied.registers;
        let mut registers = UnwindRegsX86_64::new(instruction, stack, frame.unwrap_or(UNKNOWN));
        let mut cache = CacheX86_64::<_>::new();
        let mut read = |address: u64| {
            let at = address.checked_sub(copied.begin).and_then(|at| usize::try_from(at).ok());
            let bytes = at.and_then(|at| copied.stack.get(at..at.checked_add(8)?)).ok_or(())?;
            Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| ())?))
        };
        let mut way = Way { frames: Vec::new(), is_whole: false, end: End::Known, python: None };
        let mut address = FrameAddress::from_instruction_pointer(instruction);
        while way.frames.len() < DEEPEST {
            let Some((image, own)) = self.of(address.address_for_lookup()) else { break };
            let stack = registers.sp();
            // A handler of a signal returns to code that goes on wherever the signal has come.
            let is_signal = address.is_return_address() && image.is_end_of_handler(own + 1);
            let python = Python::Other;
            way.frames.push(Frame { image: image.clone(), address: own, stack, python });
            // Without tables, the unwinder would take the frame register for that of a function that keeps one, and might guess a wrong caller.
            if !image.has_frame_table(own) {
                way.is_whole = image.is_entry(own);
                break;
            }
            let needs_frame = frame.is_none() && registers.bp() == UNKNOWN;
            match self.unwinder.unwind_frame(address, &mut registers, &mut cache, &mut read) {
                Ok(Some(caller)) if registers.sp() > stack && self.may_call(caller, is_signal) => {
                    let Some(caller) = FrameAddress::from_return_address(caller) else { break };
                    address = caller;
                }
                Ok(None) => {
                    way.is_whole = image.is_start(own);
                    break;
                }
                Err(_) if needs_frame => {
                    way.end = End::NeedsFrame;
                    break;
                }
                _ => break,
            }
        }
        if let Some(stack) = &copied.python {
            way.place(stack);
        }
        way
    }

    /// Can a caller go on at an address?
    fn may_call(&self, address: u64, is_interrupted: bool) -> bool {
        self.of(address.wrapping_sub(1)).is_some_and(|(image, own)| {
            is_interrupted || image.is_behind_call(own + 1) || image.is_end_of_handler(own + 1)
        })
    }
}
