//! `#[wraps(MPI_Send)] pub fn send(…)`: the function as written, over the library's `MPI_Send`, and
//! `send_with`, over any function that is one.
//!
//! In the body, `mpi` is the C function: something of the trait `call::MPI_Send`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, GenericParam, Ident, ItemFn, Pat, ReturnType, Token, Type, parse_quote};

/// `MPI_Send`, or `MPI_Init in Self` where there is no `self`.
struct Target {
    function: Ident,
    associated: bool,
}

impl syn::parse::Parse for Target {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let function = input.parse()?;
        let associated = input.peek(Token![in]);
        if associated {
            input.parse::<Token![in]>()?;
            input.parse::<Token![Self]>()?;
        }
        Ok(Self { function, associated })
    }
}

pub(crate) fn expand(target: TokenStream, item: TokenStream) -> TokenStream {
    try_expand(target, item).unwrap_or_else(syn::Error::into_compile_error)
}

fn try_expand(target: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let Target { function, associated } = syn::parse2(target)?;
    let wrapper: ItemFn = syn::parse2(item)?;
    let ItemFn { attrs, vis, sig, block } = wrapper;

    let mut has_self = false;
    let mut arguments = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(_) => has_self = true,
            FnArg::Typed(argument) => match &*argument.pat {
                Pat::Ident(pattern) => arguments.push(pattern.ident.clone()),
                other => return Err(syn::Error::new_spanned(other, "a name is needed here")),
            },
        }
    }

    let name = &sig.ident;
    let with = format_ident!("{name}_with");
    let owner = if has_self || associated { quote!(Self::) } else { quote!() };
    let receiver = has_self.then(|| quote!(self,));
    let generics = sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    let generics = quote!(::<#(#generics,)* _>);

    let mut outer = sig.clone();
    for input in &mut outer.inputs {
        match input {
            FnArg::Receiver(receiver) if receiver.reference.is_none() => receiver.mutability = None,
            FnArg::Receiver(_) => {}
            FnArg::Typed(argument) => {
                if let Pat::Ident(pattern) = &mut *argument.pat {
                    pattern.mutability = None;
                }
            }
        }
    }

    let mut inner = sig.clone();
    inner.ident = with.clone();
    inner.unsafety = Some(Token![unsafe](Span::call_site()));
    inner.generics.params.push(parse_quote!(Mpi: crate::call::#function));
    inner.inputs.insert(usize::from(has_self), parse_quote!(mpi: Mpi));

    let other_attributes: Vec<_> =
        attrs.iter().filter(|attribute| !attribute.path().is_ident("doc")).collect();
    let link = if owner.is_empty() { quote!(#name) } else { quote!(Self::#name) };
    let doc = format!(
        "[`{name}`]({}) over a function that is given instead of the library's `{function}`, as \
         tools need it.\n\n# Safety\n`mpi` does what the MPI standard says of `{function}`.",
        link.to_string().replace(' ', "")
    );
    // An error says which function it is of, and of which communicator, if `self` is there to ask.
    let fails = match &sig.output {
        ReturnType::Type(_, output) => match &**output {
            Type::Path(path) => {
                path.path.segments.last().is_some_and(|last| last.ident == "RmpiResult")
            }
            _ => false,
        },
        ReturnType::Default => false,
    };
    let is_shared = sig.inputs.iter().any(|input| {
        matches!(input, FnArg::Receiver(receiver)
            if receiver.reference.is_some() && receiver.mutability.is_none())
    });
    let place = function.to_string();
    let place = quote!(const { &crate::place::Place::of(#place) });
    let blame = match (fails, is_shared) {
        (false, _) => quote!(),
        (true, true) => quote!(.map_err(|mut error| {
            #[allow(unused_imports, reason = "communicators have a method of their own")]
            use crate::place::Caller as _;
            self.blame(&mut error, #place);
            error
        })),
        (true, false) => quote!(.map_err(|mut error| {
            crate::place::Placed::at(&mut error, #place);
            error
        })),
    };
    let caller_vouches = sig.unsafety.is_some().then(|| quote!(#[allow(unused_unsafe)]));
    Ok(quote! {
        #(#attrs)*
        #[inline]
        #caller_vouches
        #vis #outer {
            // SAFETY: the inner function wants a `mpi` that does what the standard says, and the library's
            // does. The conditions of an unsafe wrapper are its caller's.
            unsafe { #owner #with #generics(#receiver super::Library, #(#arguments),*) } #blame
        }

        #[doc = #doc]
        // Clippy does not read documentation that a macro makes.
        #[allow(clippy::missing_safety_doc)]
        #[inline]
        #(#other_attributes)*
        #vis #inner #block
    })
}
