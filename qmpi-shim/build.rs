//! The name by which tools and programs that were linked to TUM's library ask for it: whoever needs
//! `libqmpi.so` gets the one that is preloaded.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libqmpi.so");
}
