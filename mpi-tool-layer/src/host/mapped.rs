//! Memory that other processes see, too: parts of files, mapped. A child that `fork` makes of this process is no rank, and what it
//! does must not stand in the files of the process that has made it. So the child has memory of its own in place of each such part.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Once;

/// A part of a file in memory, to read and to write. It stays mapped until it is given back.
///
/// A child that `fork` makes has memory of its own at the same address, and the file does not change. (A child of `vfork` has its
/// parent's memory until it starts another program.)
#[derive(Clone, Copy, Debug)]
pub struct MappedFile {
    address: NonNull<u8>,
    length: usize,
}

/// What a forked child finds in place of what its parent has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InChild {
    /// A copy, with which it can go on. `fork` takes as long as copying does.
    Copy,
    /// Zeros.
    Zeros,
}

// SAFETY: the memory is the whole process's, and can be read, written and given back by any thread. All use of it is unsafe.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps `length` bytes of a file that has them, from `offset` on, which is a multiple of the page's size.
    ///
    /// # Errors
    /// The system's.
    pub fn new(file: &File, offset: usize, length: usize, in_child: InChild) -> io::Result<Self> {
        // SAFETY: without an address, the system chooses one where nothing is.
        let mapped = unsafe { Self::map(ptr::null_mut(), file, offset, length) }?;
        mapped.note(in_child);
        Ok(mapped)
    }

    /// Maps the beginning of a file in place of memory that is there. A child has a copy. After an error, that memory holds zeros.
    ///
    /// # Safety
    /// `address` is the beginning of a page. The pages of `length` bytes from there on are the caller's, and may become those of
    /// the file, or zeros, under whoever uses them.
    ///
    /// # Errors
    /// The system's.
    pub unsafe fn in_place_of(
        address: NonNull<u8>,
        file: &File,
        length: usize,
    ) -> io::Result<Self> {
        // SAFETY: the caller promises the same.
        let mapped = unsafe { Self::map(address.as_ptr(), file, 0, length) };
        match &mapped {
            Ok(mapped) => mapped.note(InChild::Copy),
            // SAFETY: as above. What was there may be gone.
            Err(_) => unsafe { zeros(address.as_ptr().cast(), length) },
        }
        mapped
    }

    /// # Safety
    /// Of [`MappedFile::in_place_of`] for an address that is not null.
    unsafe fn map(address: *mut u8, file: &File, offset: usize, length: usize) -> io::Result<Self> {
        let fixed = if address.is_null() { 0 } else { libc::MAP_FIXED };
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: `mmap` replaces what is at a fixed address, which the caller allows, and nothing otherwise.
        let mapped = unsafe {
            let flags = libc::MAP_SHARED | fixed;
            libc::mmap(address.cast(), length, PROTECTION, flags, file.as_raw_fd(), offset)
        };
        match NonNull::new(mapped.cast::<u8>()).filter(|_| mapped != libc::MAP_FAILED) {
            Some(address) => Ok(Self { address, length }),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// Where it begins.
    #[inline]
    #[must_use]
    pub const fn address(self) -> NonNull<u8> {
        self.address
    }

    /// Takes it out of the memory. It stays in the file. Not by `munmap`: MPIs (UCX) put themselves behind that, to know which of
    /// their buffers are gone, and keep more than a hundred bytes of each call.
    ///
    /// # Safety
    /// Nobody uses it any more, nor a copy of it.
    pub unsafe fn unmap(self) {
        self.forget();
        // SAFETY: the range must be a mapping that nobody uses any more: the caller says so. No MPI knows it as a buffer.
        unsafe { libc::syscall(libc::SYS_munmap, self.address.as_ptr(), self.length) };
    }

    /// Puts it on the list that a forked child goes through.
    fn note(self, in_child: InChild) {
        static REPLACES: Once = Once::new();
        REPLACES.call_once(|| in_forked_children(replace_all));
        let address = self.address.as_ptr().expose_provenance();
        let place = slots()
            .find(|slot| slot.address.compare_exchange(FREE, CLAIMED, AcqRel, Relaxed).is_ok());
        let place = place.unwrap_or_else(|| {
            let new = Box::leak(Box::new(Slot {
                address: AtomicUsize::new(CLAIMED),
                length: AtomicUsize::new(0),
                is_copied: AtomicBool::new(false),
                next: AtomicPtr::new(ptr::null_mut()),
            }));
            let mut first = FIRST.load(Acquire);
            loop {
                new.next.store(first, Relaxed);
                match FIRST.compare_exchange(first, new, AcqRel, Acquire) {
                    Ok(_) => break new,
                    Err(other) => first = other,
                }
            }
        });
        place.length.store(self.length, Relaxed);
        place.is_copied.store(in_child == InChild::Copy, Relaxed);
        place.address.store(address, Release);
    }

    /// Takes it off that list.
    fn forget(self) {
        let address = self.address.addr().get();
        if let Some(slot) = slots().find(|slot| slot.address.load(Relaxed) == address) {
            slot.address.store(FREE, Release);
        }
    }
}

const PROTECTION: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// A place on the list of what is mapped. It is never given back, but used again.
struct Slot {
    /// Or [`FREE`], or [`CLAIMED`]: neither is the address of a page that a program may have.
    address: AtomicUsize,
    length: AtomicUsize,
    is_copied: AtomicBool,
    next: AtomicPtr<Slot>,
}

const FREE: usize = 0;
/// A thread is about to write an address there. In a child there is no such thread.
const CLAIMED: usize = 1;

static FIRST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

fn slots() -> impl Iterator<Item = &'static Slot> {
    let next = |slot: &AtomicPtr<Slot>| {
        // SAFETY: the pointer must be null or of a slot that nobody changes but by its atomics: each is leaked.
        unsafe { slot.load(Acquire).as_ref() }
    };
    core::iter::successors(next(&FIRST), move |slot| next(&slot.next))
}

/// In a child, before `fork` returns there: all that is mapped becomes the child's own. The only thread is this one, and other
/// threads may have left any lock taken: only system calls are made.
extern "C" fn replace_all() {
    for slot in slots() {
        let address = slot.address.load(Acquire);
        if address == FREE || address == CLAIMED {
            continue;
        }
        let there = ptr::with_exposed_provenance_mut(address);
        let length = slot.length.load(Relaxed);
        // SAFETY: memory must be mapped there for `length` bytes, as the list says, and be used by nobody meanwhile: the child has
        // no other thread. Who uses it later finds what was there, or has asked for zeros.
        unsafe {
            if !slot.is_copied.load(Relaxed) || copy(there, length).is_none() {
                zeros(there, length);
            }
        }
    }
}

/// Puts a private copy in place of what is mapped there. `None` without memory for one.
///
/// # Safety
/// `length` bytes are mapped there, whole pages, and nobody uses them meanwhile.
unsafe fn copy(there: *mut c_void, length: usize) -> Option<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the copy is made where nothing was, and then takes the place of the original with the same contents.
    unsafe {
        let new = libc::mmap(ptr::null_mut(), length, PROTECTION, flags, -1, 0);
        if new == libc::MAP_FAILED {
            return None;
        }
        ptr::copy_nonoverlapping(there.cast::<u8>(), new.cast(), length);
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        (libc::mremap(new, length, length, how, there) != libc::MAP_FAILED).then_some(())
    }
}

/// Puts private zeros in place of what is mapped there.
///
/// # Safety
/// The whole pages of these bytes may become zeros under whoever uses them.
unsafe fn zeros(there: *mut c_void, length: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller allows it.
    unsafe { libc::mmap(there, length, PROTECTION, flags, -1, 0) };
}

static IS_FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_fork() {
    IS_FORKED.store(true, Relaxed);
}

/// Is this process a child that `fork` has made of one that has mapped a file, or called [`in_forked_children`]? It is no rank,
/// whatever it calls. One load.
#[inline]
#[must_use]
pub fn is_forked_child() -> bool {
    IS_FORKED.load(Relaxed)
}

/// Has a function run in each child that `fork` makes from now on, before `fork` returns there. It may do what a signal handler
/// may.
pub fn in_forked_children(f: extern "C" fn()) {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    let register = |f: extern "C" fn()| {
        // SAFETY: `pthread_atfork` takes functions that may run at a `fork`. Tools are never unloaded, and the C library takes them
        // off its list where one is. Without memory nothing is registered, and a child may write to its parent's files.
        unsafe { pthread_atfork(None, None, Some(f)) };
    };
    static NOTED: Once = Once::new();
    NOTED.call_once(|| register(note_fork));
    register(f);
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU8;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// What a child does, by `fork`: whether it was right.
    fn in_child(does: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls nothing that another thread's lock could stop: it reads and writes memory, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let status = libc::c_int::from(!does());
                // SAFETY: it ends the process at once.
                unsafe { libc::_exit(status) }
            }
            child => {
                let mut status = -1;
                // SAFETY: `waitpid` writes to `status`, and waits for the child made above.
                unsafe { libc::waitpid(child, &mut status, 0) };
                status == 0
            }
        }
    }

    /// The child finds what was there, writes, and the file and the parent's memory stay as they are. What was given back, and
    /// mapped again, counts by its last length.
    #[test]
    fn a_child_has_its_own() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 3 * 4096], 0).unwrap();
        let first = MappedFile::new(&file, 0, 4096, InChild::Zeros).unwrap();
        // SAFETY: nobody uses it.
        unsafe { first.unmap() };
        let all = MappedFile::new(&file, 0, 2 * 4096, InChild::Copy).unwrap();
        let last = MappedFile::new(&file, 2 * 4096, 4096, InChild::Zeros).unwrap();
        // SAFETY: the bytes must be there, and be accessed by atomics: both are mapped for as long as this test runs, which alone
        // knows of them.
        let places = unsafe {
            [all.address(), all.address().add(8191), last.address()]
                .map(|place| AtomicU8::from_ptr(place.as_ptr()))
        };
        let read = || places.map(|place| place.load(Relaxed));
        assert!(in_child(|| {
            let before = read();
            places.iter().for_each(|place| place.store(9, Relaxed));
            is_forked_child() && before == [7, 7, 0] && read() == [9; 3]
        }));
        assert_eq!(read(), [7; 3]);
        let mut bytes = [0; 3 * 4096];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [7; 3 * 4096]);
        assert!(!is_forked_child());
        // The parent's own stores reach the file, also after a fork.
        places[2].store(8, Relaxed);
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes[2 * 4096], 8);
    }
}
