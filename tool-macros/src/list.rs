//! The list of functions, parsed, with each large-count twin beside its function.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Token, Type, bracketed, parenthesized};

pub(crate) struct Function {
    pub(crate) name: Ident,
    pub(crate) method: Ident,
    pub(crate) class: Ident,
    pub(crate) version: TokenTree,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Type,
}

pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) direction: String,
    pub(crate) kind: Ident,
    pub(crate) has_length: bool,
}

struct List(Vec<Function>);

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let context;
        bracketed!(context in input);
        let _: TokenStream = context.parse()?;
        let mut functions = Vec::new();
        while !input.is_empty() {
            functions.push(input.parse()?);
        }
        Ok(Self(functions))
    }
}

impl Parse for Function {
    /// `MPI_Send send PointToPoint 1.0 258 (buf: *const c_void = in Buffer, …) -> c_int;`
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        let method = input.parse()?;
        let class = input.parse()?;
        let version = input.parse()?;
        let _tum: TokenTree = input.parse()?;
        let list;
        parenthesized!(list in input);
        let mut parameters = Vec::new();
        while !list.is_empty() {
            parameters.push(list.parse()?);
            list.parse::<Option<Token![,]>>()?;
        }
        input.parse::<Token![->]>()?;
        let result = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { name, method, class, version, parameters, result })
    }
}

impl Parse for Parameter {
    /// `array_of_requests: *mut MPI_Request = inout Request [count]`, perhaps `root` behind it.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        input.parse::<Token![=]>()?;
        // `in` is a keyword, `out` is none.
        let direction: TokenTree = input.parse()?;
        let kind = input.parse()?;
        let has_length = input.peek(syn::token::Bracket);
        while !input.is_empty() && !input.peek(Token![,]) {
            let _: TokenTree = input.parse()?;
        }
        Ok(Self { name, ty, direction: direction.to_string(), kind, has_length })
    }
}

impl Parameter {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    pub(crate) fn is_mutable(&self) -> bool {
        matches!(&self.ty, Type::Ptr(pointer) if pointer.mutability.is_some())
    }

    pub(crate) fn is_pointer(&self) -> bool {
        matches!(self.ty, Type::Ptr(_))
    }
}

/// What becomes of a parameter that differs between a function and its large-count twin.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Width {
    Same,
    /// A count: wide, narrowed for the function with `int`s.
    Scalar,
    /// An array of counts: of either width.
    Array,
    /// The same 64 bits under two names.
    Pointer,
}

/// A function with its twin, as one.
pub(crate) struct Call<'l> {
    pub(crate) function: &'l Function,
    pub(crate) twin: Option<&'l Function>,
    pub(crate) widths: Vec<Width>,
}

/// All functions, each with its twin where the two differ by the width of counts only.
pub(crate) fn calls(functions: &[Function]) -> Vec<Call<'_>> {
    let by_name: BTreeMap<String, &Function> =
        functions.iter().map(|function| (function.name.to_string(), function)).collect();
    functions
        .iter()
        .map(|function| {
            let twin = by_name.get(&format!("{}_c", function.name)).copied();
            let widths = twin.and_then(|twin| widths(function, twin));
            match widths {
                Some(widths) => Call { function, twin, widths },
                None => Call {
                    function,
                    twin: None,
                    widths: vec![Width::Same; function.parameters.len()],
                },
            }
        })
        .collect()
}

/// `None` where the two are more than one function in two widths.
fn widths(function: &Function, twin: &Function) -> Option<Vec<Width>> {
    if function.parameters.len() != twin.parameters.len() {
        return None;
    }
    let pairs = function.parameters.iter().zip(&twin.parameters);
    pairs
        .map(|(narrow, wide)| {
            let text = |ty: &Type| ty.to_token_stream().to_string();
            match (text(&narrow.ty).as_str(), text(&wide.ty).as_str()) {
                (narrow, wide) if narrow == wide => Some(Width::Same),
                ("c_int" | "MPI_Aint", "MPI_Count" | "MPI_Aint") => Some(Width::Scalar),
                ("* const c_int", "* const MPI_Count" | "* const MPI_Aint") => Some(Width::Array),
                ("* const MPI_Aint", "* const MPI_Count") => Some(Width::Pointer),
                _ => None,
            }
        })
        .collect()
}

pub(crate) fn parse(list: TokenStream) -> Result<Vec<Function>, TokenStream> {
    syn::parse2::<List>(list).map(|list| list.0).map_err(|error| error.to_compile_error())
}
