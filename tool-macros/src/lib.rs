//! The procedural macros: what `macro_rules` cannot do.

use proc_macro::TokenStream;

mod arguments;
mod calls;
mod datatype;
mod high;
mod list;
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

/// The traits of what can be called as an MPI function, from the list; for `rmpi` only.
#[doc(hidden)]
#[proc_macro]
pub fn call_traits(list: TokenStream) -> TokenStream {
    calls::traits(list.into()).into()
}

/// The MPI library as what can be called, from the list; for `rmpi` only.
#[doc(hidden)]
#[proc_macro]
pub fn call_library(list: TokenStream) -> TokenStream {
    calls::library(list.into()).into()
}

/// The high-level layer, from the list; for `mpi-tool-layer` only.
#[doc(hidden)]
#[proc_macro]
pub fn high_layer(list: TokenStream) -> TokenStream {
    high::expand(list.into()).into()
}
