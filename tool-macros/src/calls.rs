//! From the list of functions: a trait for each, of what can be called as it, and the library as
//! an implementation of all of them.
//!
//! A function and its large-count twin (`MPI_Send`, `MPI_Send_c`) are one call with wide counts:
//! the library takes the twin where a count does not fit an `int`.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Token, Type, bracketed, parenthesized};

struct Function {
    name: Ident,
    parameters: Vec<(Ident, Type)>,
    result: Type,
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
        let _method: Ident = input.parse()?;
        let _class: Ident = input.parse()?;
        let _version: TokenTree = input.parse()?;
        let _tum: TokenTree = input.parse()?;
        let list;
        parenthesized!(list in input);
        let mut parameters = Vec::new();
        while !list.is_empty() {
            let parameter = list.parse()?;
            list.parse::<Token![:]>()?;
            let ty = list.parse()?;
            while !list.is_empty() && !list.peek(Token![,]) {
                let _: TokenTree = list.parse()?;
            }
            list.parse::<Option<Token![,]>>()?;
            parameters.push((parameter, ty));
        }
        input.parse::<Token![->]>()?;
        let result = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { name, parameters, result })
    }
}

/// What becomes of a parameter that differs between a function and its large-count twin.
#[derive(Clone, Copy, PartialEq)]
enum Width {
    Same,
    /// A count: wide, narrowed for the function with `int`s.
    Scalar,
    /// An array of counts: of either width.
    Array,
    /// The same 64 bits under two names.
    Pointer,
}

struct Call<'l> {
    function: &'l Function,
    twin: Option<&'l Function>,
    widths: Vec<Width>,
}

impl Call<'_> {
    fn parameters(&self) -> (Vec<&Ident>, Vec<Type>) {
        let names = self.function.parameters.iter().map(|(name, _)| name).collect();
        let types = (0..self.widths.len())
            .map(|i| match (self.widths[i], self.twin) {
                (Width::Array, _) => syn::parse_quote!(crate::call::Array),
                (Width::Scalar | Width::Pointer, Some(twin)) => twin.parameters[i].1.clone(),
                _ => self.function.parameters[i].1.clone(),
            })
            .collect();
        (names, types)
    }
}

fn calls(functions: &[Function]) -> Vec<Call<'_>> {
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
        .map(|((_, narrow), (_, wide))| {
            let text = |ty: &Type| ty.to_token_stream().to_string();
            match (text(narrow).as_str(), text(wide).as_str()) {
                (narrow, wide) if narrow == wide => Some(Width::Same),
                ("c_int" | "MPI_Aint", "MPI_Count" | "MPI_Aint") => Some(Width::Scalar),
                ("* const c_int", "* const MPI_Count" | "* const MPI_Aint") => Some(Width::Array),
                ("* const MPI_Aint", "* const MPI_Count") => Some(Width::Pointer),
                _ => None,
            }
        })
        .collect()
}

fn parse(list: TokenStream) -> Result<Vec<Function>, TokenStream> {
    syn::parse2::<List>(list).map(|list| list.0).map_err(|error| error.to_compile_error())
}

pub(crate) fn traits(list: TokenStream) -> TokenStream {
    let functions = match parse(list) {
        Ok(functions) => functions,
        Err(error) => return error,
    };
    let traits = calls(&functions).into_iter().map(|call| {
        let (names, types) = call.parameters();
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
                /// What the MPI standard asks of a caller.
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
        let (names, types) = call.parameters();
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
                    // SAFETY: the caller vouches for what the standard asks.
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
    let (names, _) = call.parameters();
    let mut fits = Vec::new();
    let mut narrow_patterns = Vec::new();
    let mut wide_patterns = Vec::new();
    let mut narrow_values = Vec::new();
    let mut wide_values = Vec::new();
    for (i, parameter) in names.iter().enumerate() {
        let (narrow, wide) = (&call.function.parameters[i].1, &twin.parameters[i].1);
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
