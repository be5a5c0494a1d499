//! The procedural macros of `rmpi`: what `macro_rules` cannot do.

use proc_macro::TokenStream;

mod calls;
mod datatype;
mod wraps;

/// Derives `rmpi::MpiDatatype` and `rmpi::SendDatatype`; see there.
#[proc_macro_derive(MpiDatatype, attributes(mpi))]
pub fn derive_mpi_datatype(input: TokenStream) -> TokenStream {
    datatype::derive_mpi_datatype(input.into()).into()
}

/// Derives `rmpi::SendDatatype`; see there.
#[proc_macro_derive(SendDatatype, attributes(mpi))]
pub fn derive_send_datatype(input: TokenStream) -> TokenStream {
    datatype::derive_send_datatype(input.into()).into()
}

/// Makes of a wrapper a second one, `X_with`, that calls what it is given; for `rmpi` only.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn wraps(function: TokenStream, item: TokenStream) -> TokenStream {
    wraps::expand(function.into(), item.into()).into()
}

/// The traits of what can be called as an MPI function, one for each function; for `rmpi` only.
#[doc(hidden)]
#[proc_macro]
pub fn call_traits(_: TokenStream) -> TokenStream {
    calls::traits().into()
}

/// The MPI library as what can be called, for each function; for `rmpi` only.
#[doc(hidden)]
#[proc_macro]
pub fn call_library(_: TokenStream) -> TokenStream {
    calls::library().into()
}
