//! The procedural macro of `mpi-tool-layer`: what `macro_rules` cannot do.

use proc_macro::TokenStream;

mod arguments;
mod high;
mod list;

/// The high-level layer: the trait that is passed, with a method for each MPI function, and what belongs to it; for
/// `mpi-tool-layer` only.
#[doc(hidden)]
#[proc_macro]
pub fn high_layer(layer: TokenStream) -> TokenStream {
    high::expand(layer.into()).into()
}
