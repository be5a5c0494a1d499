//! The functions as tokens: what `mpi_facts` says of them, in the form in which an expansion puts it together.

use mpi_facts::{Direction, FunctionId, Width};
use proc_macro2::{Ident, TokenStream};
use quote::format_ident;

pub(crate) struct Function {
    pub(crate) id: FunctionId,
    pub(crate) name: Ident,
    pub(crate) method: Ident,
    pub(crate) parameters: Vec<Parameter>,
}

pub(crate) struct Parameter {
    facts: &'static mpi_facts::Parameter,
    pub(crate) name: Ident,
    pub(crate) ty: TokenStream,
    /// The kind's name.
    pub(crate) kind: Ident,
}

impl From<FunctionId> for Function {
    fn from(id: FunctionId) -> Self {
        Self {
            id,
            name: format_ident!("{}", id.name()),
            method: format_ident!("{}", id.method_name()),
            parameters: id.parameters().iter().map(Parameter::from).collect(),
        }
    }
}

impl From<&'static mpi_facts::Parameter> for Parameter {
    fn from(facts: &'static mpi_facts::Parameter) -> Self {
        Self {
            facts,
            name: format_ident!("{}", facts.name()),
            ty: tokens(facts.rust_type()),
            kind: format_ident!("{}", format!("{:?}", facts.kind)),
        }
    }
}

fn tokens(ty: &str) -> TokenStream {
    ty.parse().expect("the list has Rust types")
}

impl Parameter {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    pub(crate) fn is_output(&self) -> bool {
        self.facts.direction == Direction::Out
    }

    pub(crate) fn has_length(&self) -> bool {
        self.facts.length().is_some()
    }

    pub(crate) fn is_pointer(&self) -> bool {
        self.facts.rust_type().starts_with('*')
    }

    pub(crate) fn is_mutable(&self) -> bool {
        self.mutable_target().is_some()
    }

    /// What an address leads to that may be written to.
    pub(crate) fn mutable_target(&self) -> Option<TokenStream> {
        let behind = self.facts.rust_type().strip_prefix('*')?.trim_start();
        behind.strip_prefix("mut ").map(tokens)
    }
}

/// A function with its large-count twin, as one.
pub(crate) struct Call {
    pub(crate) function: Function,
    pub(crate) twin: Option<Function>,
    /// How the parameters differ.
    pub(crate) widths: Vec<Width>,
}

/// All functions, each with its twin where the two differ by the width of counts only. The twins themselves are no calls of
/// their own.
pub(crate) fn calls() -> Vec<Call> {
    FunctionId::all_but_twins()
        .map(|function| Call {
            function: function.into(),
            twin: function.large_count_twin().map(Into::into),
            widths: function.widths(),
        })
        .collect()
}
