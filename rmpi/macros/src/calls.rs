//! From the list of functions: a trait for each, of what can be called as it, and the library as
//! an implementation of all of them.
//!
//! A function and its large-count twin (`MPI_Send`, `MPI_Send_c`) are one call with wide counts:
//! the library takes the twin where a count does not fit an `int`.

use mpi_facts::{FunctionId, Width};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// A function with its large-count twin, as one.
struct Call {
    name: Ident,
    twin: Option<Ident>,
    parameters: Vec<Parameter>,
    result: TokenStream,
}

struct Parameter {
    name: Ident,
    width: Width,
    narrow: TokenStream,
    wide: TokenStream,
}

impl Parameter {
    /// The type in the trait.
    fn ty(&self) -> TokenStream {
        match self.width {
            Width::Array => quote!(crate::call::Array),
            Width::Same => self.narrow.clone(),
            Width::Scalar | Width::Pointer => self.wide.clone(),
        }
    }
}

/// All functions, but for the twins of others.
fn calls() -> Vec<Call> {
    let tokens = |ty: &str| -> TokenStream { ty.parse().expect("the list has Rust types") };
    FunctionId::all_but_twins()
        .map(|function| {
            let twin = function.large_count_twin();
            let wide = twin.unwrap_or(function).parameters();
            let parameters = function.parameters().iter().zip(wide).zip(function.widths());
            let parameters = parameters.map(|((narrow, wide), width)| Parameter {
                name: format_ident!("{}", narrow.name()),
                width,
                narrow: tokens(narrow.rust_type()),
                wide: tokens(wide.rust_type()),
            });
            Call {
                name: format_ident!("{}", function.name()),
                twin: twin.map(|twin| format_ident!("{}", twin.name())),
                parameters: parameters.collect(),
                result: tokens(function.result()),
            }
        })
        .collect()
}

fn names_and_types(call: &Call) -> (Vec<&Ident>, Vec<TokenStream>) {
    call.parameters.iter().map(|parameter| (&parameter.name, parameter.ty())).unzip()
}

pub(crate) fn traits() -> TokenStream {
    let traits = calls().into_iter().map(|call| {
        let (names, types) = names_and_types(&call);
        let (name, result) = (&call.name, &call.result);
        let doc = match &call.twin {
            Some(twin) => format!("What can be called as `{name}` or `{twin}`."),
            None => format!("What can be called as `{name}`."),
        };
        quote! {
            #[doc = #doc]
            pub trait #name {
                /// The call.
                ///
                /// # Safety
                /// What the MPI standard asks of the function's caller: arguments that are right together,
                /// handles that are valid, and buffers as long as the operation runs, in an MPI that runs and
                /// on a thread that may call it.
                unsafe fn call(self, #(#names: #types),*) -> #result;
            }
            impl<F: FnOnce(#(#types),*) -> #result> #name for F {
                #[inline]
                unsafe fn call(self, #(#names: #types),*) -> #result {
                    self(#(#names),*)
                }
            }
        }
    });
    quote!(#(#traits)*)
}

pub(crate) fn library() -> TokenStream {
    let implementations = calls().into_iter().map(|call| {
        let (names, types) = names_and_types(&call);
        let (name, result) = (&call.name, &call.result);
        let body = match &call.twin {
            None => quote!(sys::#name(#(#names),*)),
            Some(twin) => dispatch(&call, twin),
        };
        quote! {
            impl crate::call::#name for Library {
                #[inline]
                unsafe fn call(self, #(#names: #types),*) -> #result {
                    // SAFETY: the function wants arguments as the standard asks, in an MPI that runs, which the
                    // caller promises. Where there is a twin, counts that fit are the same numbers in both.
                    unsafe { #body }
                }
            }
        }
    });
    quote!(#(#implementations)*)
}

/// The function where all counts fit it, else its twin.
fn dispatch(call: &Call, twin_name: &Ident) -> TokenStream {
    let name = &call.name;
    let mut fits = Vec::new();
    let mut narrow_patterns = Vec::new();
    let mut wide_patterns = Vec::new();
    let mut narrow_values = Vec::new();
    let mut wide_values = Vec::new();
    for Parameter { name: parameter, width, narrow, wide } in &call.parameters {
        let (mut as_narrow, mut as_wide) = (quote!(#parameter), quote!(#parameter));
        match width {
            Width::Same => {}
            Width::Scalar => {
                fits.push(quote!(#parameter == #parameter as #narrow as #wide));
                as_narrow = quote!(#parameter as #narrow);
            }
            Width::Pointer => as_narrow = quote!(#parameter.cast()),
            Width::Array => {
                let values = format_ident!("{parameter}_values");
                fits.push(quote!(true));
                narrow_patterns
                    .push((quote!(#parameter), quote!(crate::call::Array::Int(#values))));
                wide_patterns.push(quote!(crate::call::Array::Wide(#values)));
                as_narrow = quote!(#values);
                as_wide = quote!(#values.cast());
            }
        }
        narrow_values.push(as_narrow);
        wide_values.push(as_wide);
    }
    let (arrays, narrow_patterns): (Vec<_>, Vec<_>) = narrow_patterns.into_iter().unzip();
    if arrays.is_empty() {
        return quote! {
            if #(#fits)&&* {
                sys::#name(#(#narrow_values),*)
            } else {
                sys::#twin_name(#(#wide_values),*)
            }
        };
    }
    quote! {
        match (#(#arrays,)*) {
            (#(#narrow_patterns,)*) if #(#fits)&&* => sys::#name(#(#narrow_values),*),
            (#(#wide_patterns,)*) => sys::#twin_name(#(#wide_values),*),
            // The wrappers make all arrays of one width, wide ones where a scalar asks for it.
            _ => sys::MPI_ERR_COUNT,
        }
    }
}
