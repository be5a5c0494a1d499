//! What the dynamic linker is asked: libraries and their symbols, and which object of the process an address is in.
//!
//! A look-up that fails leaves a message in the dynamic linker, which the application would find at its next `dlerror`. So
//! whoever looks up names that may not be there [takes the message away](clear_message) afterwards. A library that a
//! program has opened for itself alone (`RTLD_LOCAL`, as Python does) is found only by a handle of its own, which is asked
//! for by the library's file name ([`open_again`]) and does not load it again.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull};

use crate::host::objects::each_object;

/// A library that this process has opened, and never closes: it and its symbols stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Library(NonNull<c_void>);

/// Where a symbol is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// In all objects that are there for all.
    Default,
    /// In those behind this tool.
    Next,
    /// In a library, and in those that it needs.
    Library(Library),
}

/// Opens a library. `None` if that is not possible; [`message`] says why, or [`clear_message`] forgets it.
pub fn open(name: &CStr, flags: c_int) -> Option<Library> {
    // SAFETY: `dlopen` reads a C string, which `name` is. It runs the constructors of what it loads: an MPI
    // library's or a tool's, which the program would have run as well, or none where the library is there
    // already.
    NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) }).map(Library)
}

/// A library that is loaded, by the name of its file; `None` if it is not. `flags` change what it is to the process:
/// `RTLD_NODELETE`, `RTLD_GLOBAL`.
pub fn open_again(file: &CStr, flags: c_int) -> Option<Library> {
    let library = open(file, libc::RTLD_LAZY | libc::RTLD_NOLOAD | flags);
    if library.is_none() {
        clear_message();
    }
    library
}

/// `dlsym`, which must be called from the tool's own code: by the return address the dynamic linker
/// knows what is next. The result is used here, so that the call is no tail call.
#[inline(never)]
pub(crate) fn find(scope: Scope, name: &CStr) -> *mut c_void {
    let handle = match scope {
        Scope::Default => libc::RTLD_DEFAULT,
        Scope::Next => libc::RTLD_NEXT,
        Scope::Library(library) => library.as_ptr(),
    };
    // SAFETY: `dlsym` reads a C string, which `name` is, and wants an opened library or one of its special
    // values: the handle is one of these, or a `Library`'s, which stays open.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    core::hint::black_box(address)
}

impl Library {
    /// The address of a symbol in the library, or in those that it needs; null if no library there has the symbol.
    pub fn find(self, name: &CStr) -> *mut c_void {
        find(Scope::Library(self), name)
    }

    /// What `dlopen` has given for it.
    pub fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr()
    }
}

/// The address of a symbol in MPI's Fortran libraries, however they were loaded; null if there are none.
pub fn find_in_fortran_library(name: &CStr) -> *mut c_void {
    let mut paths = Vec::new();
    each_object(|object| {
        if object.is_fortran_library() {
            paths.push(object.path().to_owned());
        }
    });
    let mut found =
        paths.iter().filter_map(|path| open_again(path, 0)).map(|library| library.find(name));
    let found = found.find(|address| !address.is_null()).unwrap_or(ptr::null_mut());
    clear_message();
    found
}

/// Clears the message of failed look-ups, which are not the application's.
pub fn clear_message() {
    // SAFETY: `dlerror` takes nothing, may be called by any thread at any time, and its result is not used.
    unsafe { libc::dlerror() };
}

/// What the dynamic linker says about the last failure; clears it.
pub fn message() -> String {
    // SAFETY: `dlerror` gives null or a C string that stays until the thread's next call of `dlerror` or the
    // like. It is copied before that.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() {
            return "no reason given".into();
        }
        CStr::from_ptr(message).to_string_lossy().into_owned()
    }
}

/// An address in the object that this code is in.
pub(crate) fn here() -> *const c_void {
    static HERE: u8 = 0;
    (&raw const HERE).cast()
}

/// A loaded object that an address is in.
pub struct Located(libc::Dl_info);

/// Finds the loaded object that an address is in. `None` of an address that is in none.
pub fn locate(address: usize) -> Option<Located> {
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: `dladdr` takes any address, and writes to the structure.
    let is_found = unsafe { libc::dladdr(ptr::without_provenance(address), &mut found) } != 0;
    (is_found && !found.dli_fname.is_null()).then_some(Located(found))
}

impl Located {
    /// Where the object begins: equal for all addresses in it.
    pub fn base(&self) -> usize {
        self.0.dli_fbase.addr()
    }

    /// The file of the object, as the dynamic linker was told.
    ///
    /// # Safety
    /// The object stays loaded as long as the name is used.
    pub unsafe fn file(&self) -> &'static CStr {
        // SAFETY: the pointer must be of a C string for the result's lifetime: `locate` has left out null, the dynamic
        // linker keeps the string as long as the object, and the caller promises that this stays.
        unsafe { CStr::from_ptr(self.0.dli_fname) }
    }

    /// The exported symbol that the address is in, and where that begins.
    ///
    /// # Safety
    /// The object stays loaded as long as the name is used.
    pub unsafe fn symbol(&self) -> Option<(&'static CStr, *const c_void)> {
        if self.0.dli_sname.is_null() {
            return None;
        }
        // SAFETY: the pointer must be of a C string for the result's lifetime: it is not null, as was checked, the
        // dynamic linker keeps the string as long as the object, and the caller promises that this stays.
        Some((unsafe { CStr::from_ptr(self.0.dli_sname) }, self.0.dli_saddr))
    }
}

/// The beginning of the dynamic linker's `struct link_map`: what it knows of a loaded object.
#[repr(C)]
pub struct LinkMap {
    /// What is added to the addresses in the object's file.
    pub base: usize,
    name: *const c_char,
    /// The dynamic section.
    pub dynamic: *const c_void,
}

impl LinkMap {
    /// That of an opened library; `None` if the dynamic linker has none.
    pub fn of(library: Library) -> Option<&'static Self> {
        let mut map: *const LinkMap = ptr::null();
        // SAFETY: `dlinfo` wants a handle of `dlopen`, which a `Library` has, and writes one pointer. What it points to lives
        // as long as the library: for ever.
        unsafe {
            libc::dlinfo(library.as_ptr(), libc::RTLD_DI_LINKMAP, (&raw mut map).cast());
            map.as_ref()
        }
    }

    /// The file that the object was loaded from; `None` where the dynamic linker has no name for it.
    pub fn file(&self) -> Option<&CStr> {
        if self.name.is_null() {
            return None;
        }
        // SAFETY: the name is not null, and then a C string of the dynamic linker's, which lives as long as the
        // object, and this value is in the object's `link_map`.
        Some(unsafe { CStr::from_ptr(self.name) }).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_located_in_its_object() {
        let here = locate(locate as *const c_void as usize).expect("this program");
        let there = locate(libc::getpid as *const c_void as usize).expect("the C library");
        assert_ne!(here.base(), there.base());
        // SAFETY: the C library stays loaded.
        let (file, symbol) = unsafe { (there.file(), there.symbol()) };
        assert!(file.to_str().unwrap().contains("libc.so"), "{file:?}");
        assert!(symbol.unwrap().0.to_str().unwrap().contains("getpid"));
        assert!(locate(8).is_none());

        let library = open_again(file, 0).expect("it is loaded");
        assert!(!library.find(c"getpid").is_null());
        let map = LinkMap::of(library).unwrap();
        assert_eq!(map.base, there.base());
        assert_eq!(map.file(), Some(file));
        assert!(open_again(c"libnothing_of_this_name.so", 0).is_none());
    }
}
