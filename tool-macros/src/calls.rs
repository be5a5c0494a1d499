//! From the list of functions: a trait for each, of what can be called as it, and the library as
//! an implementation of all of them.
//!
//! A function and its large-count twin (`MPI_Send`, `MPI_Send_c`) are one call with wide counts:
//! the library takes the twin where a count does not fit an `int`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Type};

use crate::list::{Call, Function, Width, calls, parse};

fn parameters<'l>(call: &Call<'l>) -> (Vec<&'l Ident>, Vec<Type>) {
    let names = call.function.parameters.iter().map(|parameter| &parameter.name).collect();
    let types = (0..call.widths.len())
        .map(|i| match (call.widths[i], call.twin) {
            (Width::Array, _) => syn::parse_quote!(crate::call::Array),
            (Width::Scalar | Width::Pointer, Some(twin)) => twin.parameters[i].ty.clone(),
            _ => call.function.parameters[i].ty.clone(),
        })
        .collect();
    (names, types)
}

pub(crate) fn traits(list: TokenStream) -> TokenStream {
    let functions = match parse(list) {
        Ok(functions) => functions,
        Err(error) => return error,
    };
    let traits = calls(&functions).into_iter().map(|call| {
        let (names, types) = parameters(&call);
        let name = &call.function.name;
        let result = &call.function.result;
        let doc = match call.twin {
            Some(twin) => format!("What can be called as `{name}` or `{}`.", twin.name),
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

pub(crate) fn library(list: TokenStream) -> TokenStream {
    let functions = match parse(list) {
        Ok(functions) => functions,
        Err(error) => return error,
    };
    let implementations = calls(&functions).into_iter().map(|call| {
        let (names, types) = parameters(&call);
        let name = &call.function.name;
        let result = &call.function.result;
        let body = match call.twin {
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
fn dispatch(call: &Call<'_>, twin: &Function) -> TokenStream {
    let name = &call.function.name;
    let twin_name = &twin.name;
    let (names, _) = parameters(call);
    let mut fits = Vec::new();
    let mut narrow_patterns = Vec::new();
    let mut wide_patterns = Vec::new();
    let mut narrow_values = Vec::new();
    let mut wide_values = Vec::new();
    for (i, parameter) in names.iter().enumerate() {
        let (narrow, wide) = (&call.function.parameters[i].ty, &twin.parameters[i].ty);
        let (mut as_narrow, mut as_wide) = (quote!(#parameter), quote!(#parameter));
        match call.widths[i] {
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
