//! From the list of functions: the high-level layer's methods, what their next functions are, and how
//! each high-level layer is a raw one.
//!
//! Arguments that belong together become one value (a buffer is an address, a count and a datatype),
//! each value is of a type that says what it is, and whatever has no type of its own is a `Value`,
//! which can be looked at and passed on.

use std::collections::BTreeSet;

use mpi_facts::{FunctionClass, FunctionId, Shape, Timing, Width};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};

use crate::arguments::{Argument, Role, arguments};
use crate::list::{Call, calls};

/// What is not in the high-level layer: what has no better types than C's.
const fn stays_raw(function: FunctionId) -> bool {
    let class = function.class();
    !matches!(function.result().as_bytes(), b"c_int")
        || matches!(class, FunctionClass::ToolInterface | FunctionClass::Conversion)
        // Variadic.
        || matches!(function, FunctionId::MPI_Pcontrol)
}

/// Is a parameter an array that a value has as `Counts`, though both forms of the function have the
/// same type?
fn is_same_counts(call: &Call, argument: &Argument, i: usize) -> bool {
    call.widths[i] == Width::Same
        && call.function.parameters[i].is("Displacement")
        && argument.ty.to_string().starts_with("Blocks")
}

/// C's argument, of the narrow or the wide function, as what the values are made of.
fn lift(call: &Call, argument: &Argument, i: usize, wide: bool) -> TokenStream {
    let name = &call.function.parameters[i].name;
    match call.widths[i] {
        Width::Array if wide => quote!(Counts::wide(#name.cast())),
        Width::Array => quote!(Counts::int(#name)),
        Width::Scalar if !wide => {
            let ty = call.twin.as_ref().map(|twin| &twin.parameters[i].ty);
            quote!(widen::<#ty>(#name))
        }
        Width::Pointer if !wide => quote!(#name.cast()),
        _ if is_same_counts(call, argument, i) => quote!(Counts::wide(#name.cast())),
        // A buffer's count where there is no twin.
        _ if argument.parts.len() > 1 && call.twin.is_none() && is_count(call, i) => {
            quote!(MPI_Count::from(#name))
        }
        _ => quote!(#name),
    }
}

fn is_count(call: &Call, i: usize) -> bool {
    let parameter = &call.function.parameters[i];
    !parameter.is_pointer() && (parameter.is("XferNumElem") || parameter.is("DtypeNumElem"))
}

/// The call of the narrow function or of the wide one, with conditions.
struct Lowered {
    conditions: Vec<TokenStream>,
    patterns: Vec<TokenStream>,
    arrays: Vec<TokenStream>,
    values: Vec<TokenStream>,
}

fn lower(call: &Call, arguments: &[Argument], wide: bool) -> Lowered {
    let mut lowered = Lowered {
        conditions: Vec::new(),
        patterns: Vec::new(),
        arrays: Vec::new(),
        values: Vec::new(),
    };
    for argument in arguments {
        for &i in &argument.parts {
            let parameter = &call.function.parameters[i];
            let name = &parameter.name;
            let ty = &parameter.ty;
            let mut value = quote!(#name);
            match call.widths[i] {
                Width::Array => {
                    lowered.arrays.push(quote!(#name.0));
                    if wide {
                        lowered.patterns.push(quote!(Array::Wide(#name)));
                        value = quote!(#name.cast());
                    } else {
                        lowered.patterns.push(quote!(Array::Int(#name)));
                    }
                }
                Width::Scalar if !wide => {
                    lowered.conditions.push(quote!(fits(#name, #name as #ty)));
                    value = quote!(#name as #ty);
                }
                Width::Pointer if !wide => value = quote!(#name.cast()),
                Width::Same if is_same_counts(call, argument, i) => {
                    lowered.arrays.push(quote!(#name.0));
                    lowered.patterns.push(quote!(Array::Wide(#name)));
                    value = quote!(#name.cast());
                }
                Width::Same
                    if argument.parts.len() > 1 && call.twin.is_none() && is_count(call, i) =>
                {
                    lowered.conditions.push(quote!(fits(#name, #name as #ty)));
                    value = quote!(#name as #ty);
                }
                _ => {}
            }
            lowered.values.push(value);
        }
    }
    lowered
}

/// The function's parts in the parts' names, from the values.
fn take_apart(call: &Call, arguments: &[Argument]) -> Vec<TokenStream> {
    arguments
        .iter()
        .map(|argument| {
            let value = &argument.name;
            let parts = argument.parts.iter().map(|&i| &call.function.parameters[i].name);
            if argument.parts.len() == 1 {
                quote!(let #value = #value.into_c();)
            } else {
                quote!(let (#(#parts,)*) = #value.into_c();)
            }
        })
        .collect()
}

/// From `pub trait … { items }` all that is made of the functions.
pub(crate) fn expand(layer: TokenStream) -> TokenStream {
    // The methods go behind the items.
    let mut layer: Vec<_> = layer.into_iter().collect();
    let Some(TokenTree::Group(items)) = layer.pop() else {
        return quote!(compile_error!("the trait is missing"););
    };
    let items = items.stream();
    let calls = calls();
    let mut next = Vec::new();
    let mut methods = Vec::new();
    let mut raw = Vec::new();
    let mut signatures = Vec::new();
    let mut roles: BTreeSet<Ident> =
        ["source", "dest", "root", "flag"].map(|role| format_ident!("{role}")).into();
    for call in &calls {
        if stays_raw(call.function.id) {
            continue;
        }
        let arguments = arguments(call);
        let named = arguments.iter().filter(|argument| argument.role != Role::Type);
        roles.extend(named.map(|argument| argument.name.clone()));
        next.push(next_trait(call, &arguments));
        methods.push(method(call, &arguments));
        signatures.push(signature(call, &arguments));
        raw.push(raw_method(call, &arguments, false));
        if call.twin.is_some() {
            raw.push(raw_method(call, &arguments, true));
        }
    }
    let roles = roles.iter();
    let has_method = FunctionId::all().map(|function| !stays_raw(function));
    quote! {
        /// Which functions high-level layers have a method for, by its number.
        pub(crate) const HAS_METHOD: [bool; FunctionId::COUNT] = [#(#has_method),*];

        /// The next functions, as closures over the high-level types: what a layer's methods call to
        /// pass a call on.
        #[allow(non_camel_case_types, reason = "MPI's names")]
        pub mod next {
            use super::*;
            #(#next)*
        }

        /// The roles of arguments: which parameter of its function an argument is for, by the names that the
        /// MPI standard gives to parameters. They are types without values.
        #[allow(non_camel_case_types, reason = "the standard's names")]
        pub mod arg {
            #(
                #[doc = concat!("The parameter `", stringify!(#roles), "` of a function.")]
                #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
                pub enum #roles {}
            )*
        }

        #(#layer)* {
            #items
            #(#methods)*
        }

        /// What each method's next function takes, for the tests.
        #[cfg(test)]
        pub(crate) fn signatures() -> Vec<(FunctionId, Vec<tests::ArgumentType>)> {
            vec![#(#signatures),*]
        }

        // SAFETY: the trait wants what the MPI standard says of each function. A layer's method returns
        // success only as it got it from the next function (`Accepted`), which it can call only once, with
        // the application's arguments, each for the parameter for which the application has passed
        // it; where an argument is another one, the author has vouched for it in an `unsafe` block.
        unsafe impl<L: MpiInterceptionLayer> RawMpiInterceptionLayer for L {
            const COMPILED: Compiled = <L as MpiInterceptionLayer>::COMPILED;
            const AROUND: &'static [bool; FunctionId::COUNT] = <L as MpiInterceptionLayer>::AROUND;
            const SEES_RAW: bool = <L as MpiInterceptionLayer>::SEES_UNTYPED;

            #[inline(always)]
            fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
            where
                F: FnOnce() -> R,
            {
                // SAFETY: to call the function is to call MPI, whose arguments must be as the standard asks. They
                // are the application's own, and a layer can pass them on only once.
                self.around_untyped(function, || unsafe { call.unwrap()() })
            }

            #[inline(always)]
            fn pcontrol<F>(&self, next_f: UnsafeBox<'_, F>, level: ::core::ffi::c_int) -> ::core::ffi::c_int
            where
                F: FnOnce(::core::ffi::c_int) -> ::core::ffi::c_int,
            {
                self.profiling_level(level);
                // SAFETY: to call the function is to call MPI, whose arguments must be as the standard asks. It is the
                // application's own, and a layer can pass it on only once.
                self.around_untyped(FunctionId::MPI_Pcontrol, || unsafe { next_f.unwrap()(level) })
            }

            #(#raw)*
        }
    }
}

fn next_trait(call: &Call, arguments: &[Argument]) -> TokenStream {
    let name = &call.function.name;
    let blocking = Shape::of(call.function.id).timing == Timing::Blocking;
    let types: Vec<_> = arguments.iter().map(|argument| argument.next_type(blocking)).collect();
    let doc = format!("The next `{name}`.");
    quote! {
        #[doc = #doc]
        pub trait #name<'c>: FnOnce(#(#types),*) -> CallResult<'c> {}
        impl<'c, F: FnOnce(#(#types),*) -> CallResult<'c>> #name<'c> for F {}
    }
}

/// A function with the types of its method's arguments. The function inside compiles only if the next
/// function takes just these.
fn signature(call: &Call, arguments: &[Argument]) -> TokenStream {
    let name = &call.function.name;
    let names: Vec<_> = arguments.iter().map(|argument| &argument.name).collect();
    let types: Vec<_> = arguments
        .iter()
        .map(|argument| argument.with_lifetimes(&quote!('c), &quote!('c)))
        .collect();
    quote! {{
        type Arguments<'c> = (#(#types,)*);
        fn _passed_on<'c>(
            next_f: impl next::#name<'c>,
            (#(#names,)*): Arguments<'c>,
        ) -> CallResult<'c> {
            next_f(#(#names),*)
        }
        (FunctionId::#name, <Arguments<'static> as tests::ArgumentTypes>::types())
    }}
}

fn method(call: &Call, arguments: &[Argument]) -> TokenStream {
    let function = &call.function;
    let (name, method) = (&function.name, &function.method);
    let names: Vec<_> = arguments.iter().map(|argument| &argument.name).collect();
    let types: Vec<_> = arguments.iter().map(Argument::method_type).collect();
    let take_apart = take_apart(call, arguments);
    let mut words = Vec::new();
    let mut wide = quote!(false);
    for argument in arguments {
        for &i in &argument.parts {
            let parameter = &function.parameters[i];
            let (part, kind) = (&parameter.name, &parameter.kind);
            if call.widths[i] == Width::Array {
                words.push(quote!(#part.address()));
                wide = quote!(#part.is_wide());
            } else if is_same_counts(call, argument, i) {
                words.push(quote!(#part.address()));
            } else {
                words.push(quote!(crate::call::word!(#kind #part)));
            }
        }
    }
    let moves_data = function.parameters.iter().any(|p| p.is("Buffer"));
    let completes = function.id.class() == FunctionClass::Completion;
    // Which message a probe has found, or has taken out of the queue, only its status says.
    let probes = function.method.to_string().ends_with("probe");
    let mut watched = Vec::new();
    let mut before = quote!(&[]);
    let mut returned = quote!(None);
    let mut next = quote!(move || next_f(#(#names),*));
    for argument in arguments {
        let value = &argument.name;
        if argument.is("StatusMut") && (moves_data || completes || probes) {
            watched.push(quote! {
                let mut own_status = OwnStatus::new();
                let #value = if Self::WATCHES_COMPLETION {
                    own_status.for_ignored(#value)
                } else {
                    #value
                };
            });
        } else if argument.is("RequestsMut") || (completes && argument.is("InOut")) {
            watched.push(quote! {
                let snapshot = if Self::WATCHES_COMPLETION {
                    // SAFETY: MPI must not write to them meanwhile: they are copied here, before the call goes on.
                    Snapshot::of(unsafe { #value.as_slice() })
                } else {
                    Snapshot::of(&[])
                };
            });
            before = quote!(snapshot.as_slice());
            watched.push(quote!(let returned = Returns::nothing();));
            returned = quote!(Some(&returned));
            next = quote! {|| {
                let result = next_f(#(#names),*);
                if Self::WATCHES_COMPLETION {
                    returned.set(crate::call::code(result));
                }
                result
            }};
            if let Some(statuses) = arguments.iter().find(|a| a.is("StatusesMut")) {
                let statuses = &statuses.name;
                watched.push(quote! {
                    let mut own_statuses = OwnStatuses::new();
                    let #statuses = if Self::WATCHES_COMPLETION {
                        #statuses.unless_kept(&#value, &mut own_statuses)
                    } else {
                        #statuses
                    };
                });
            }
        }
    }
    let doc = match &call.twin {
        Some(twin) => format!("`{name}` and `{}`.", twin.name),
        None => format!("`{name}`."),
    };
    let version = format!("Since MPI-{}.", function.id.first_version());
    quote! {
        #[doc = #doc]
        ///
        #[doc = #version]
        #[inline(always)]
        fn #method<'c>(
            &self,
            next_f: impl next::#name<'c>,
            #(#names: #types),*
        ) -> CallResult<'c> {
            #(#watched)*
            let (words, wide) = {
                #(#take_apart)*
                ([#(#words),*], #wide)
            };
            let next = #next;
            // SAFETY: `words` are the call's arguments, and `next` puts into `returned` what the next function
            // returns, and nobody else can.
            unsafe {
                not_overridden::<{ FunctionId::#name as usize }, _, _>(
                    self, wide, &words, #before, #returned, next,
                )
            }
        }
    }
}

fn raw_method(call: &Call, arguments: &[Argument], wide: bool) -> TokenStream {
    let high = &call.function.method;
    let twin = call.twin.as_ref();
    let this = if wide { twin.expect("only twins are wide") } else { &call.function };
    let other = if wide { Some(&call.function) } else { twin };
    let method = &this.method;
    let (parameters, types): (Vec<_>, Vec<_>) =
        this.parameters.iter().map(|p| (&p.name, &p.ty)).unzip();
    let values: Vec<_> = arguments.iter().map(|argument| &argument.name).collect();
    let take_apart = take_apart(call, arguments);
    let lowered = lower(call, arguments, wide);
    let arms = |lowered: &Lowered, function: TokenStream| {
        let Lowered { conditions, patterns, values, .. } = lowered;
        let guard = (!conditions.is_empty()).then(|| quote!(if #(#conditions)&&*));
        quote!((#(#patterns,)*) #guard => #function(#(#values),*),)
    };
    let own = arms(&lowered, quote!(next_f.unwrap()));
    let refutable = !lowered.conditions.is_empty() || !lowered.patterns.is_empty();
    let arrays = &lowered.arrays;
    let others = other.map(|other| {
        let name = &other.method;
        let lowered = lower(call, arguments, !wide);
        arms(&lowered, quote!(table.#name))
    });
    let always_fits = !refutable || (wide && lowered.patterns.is_empty());
    let call_next = if always_fits {
        let values = &lowered.values;
        quote!(next_f.unwrap()(#(#values),*))
    } else {
        quote! {
            match (#(#arrays,)*) {
                #own
                #others
                _ => MPI_ERR_COUNT,
            }
        }
    };
    let table = (!always_fits && other.is_some()).then(|| quote!(let table = next_f.table();));
    let lifted = arguments.iter().map(|argument| {
        let ty = &argument.ty;
        // The other form's names are the same.
        let parts = argument.parts.iter().map(|&i| lift(call, argument, i, wide));
        quote!(#ty::from_c(#(#parts),*))
    });
    let call_next = quote! {
        // SAFETY: MPI's function wants arguments that are right together. They are the
        // application's own, of this call (`'c`) and for these parameters (their roles), or
        // made by a layer that has promised the same.
        unsafe { #call_next }
    };
    let (kept, call_next, code) = if arguments.iter().any(|argument| argument.is("StatusesMut")) {
        (
            quote!(let from_next = &Returns::nothing();),
            quote! {
                let code = { #call_next };
                from_next.set(code);
                crate::call::result(code)
            },
            quote!(crate::call::code_with_statuses(result, from_next.get())),
        )
    } else {
        (quote!(), quote!(crate::call::result({ #call_next })), quote!(crate::call::code(result)))
    };
    quote! {
        #[inline(always)]
        fn #method<F>(&self, next_f: UnsafeBox<'_, F>, #(#parameters: #types),*) -> c_int
        where
            F: FnOnce(#(#types),*) -> c_int,
        {
            #table
            #kept
            let result = MpiInterceptionLayer::#high(
                self,
                move |#(#values),*| {
                    #(#take_apart)*
                    #call_next
                },
                #(#lifted),*
            );
            #code
        }
    }
}
