//! `#[derive(MpiDatatype)]` and `#[derive(SendDatatype)]`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Fields, LitStr, Meta, Path, Result, Token, Type,
    parse_quote,
};

/// Implements both traits: MPI-5.0 has no datatype for receiving only, and one derive is enough.
pub(crate) fn derive_mpi_datatype(input: TokenStream) -> TokenStream {
    expand(input, |input, rmpi| match &input.data {
        Data::Struct(data) => {
            let send = send_struct(input, &data.fields, rmpi);
            // SAFETY (of the code made): what is received is the fields' bytes, and each field is
            // valid whatever they are. The other bytes are padding. Invariants over fields are the
            // author's, who asked for the derive.
            let mpi = unsafe_impl(
                input,
                &quote!(#rmpi::MpiDatatype),
                &field_types(&data.fields),
                TokenStream::new(),
            );
            Ok(quote!(#send #mpi))
        }
        Data::Enum(data) => Err(Error::new_spanned(
            &input.ident,
            if data.variants.iter().all(|variant| variant.fields.is_empty()) {
                "an enum cannot be received: not every bit pattern is one of its variants. Derive \
                 `SendDatatype` to send it, and receive its integer"
            } else {
                "an enum cannot be received: not every bit pattern is one of its variants, and \
                 which bytes are initialised depends on the variant. `SendDatatype` can be derived \
                 for enums without fields"
            },
        )),
        Data::Union(_) => Err(of_union(input)),
    })
}

pub(crate) fn derive_send_datatype(input: TokenStream) -> TokenStream {
    expand(input, |input, rmpi| match &input.data {
        Data::Struct(data) => Ok(send_struct(input, &data.fields, rmpi)),
        Data::Enum(data) => send_enum(input, data, rmpi),
        Data::Union(_) => Err(of_union(input)),
    })
}

fn expand(
    input: TokenStream,
    derive: impl FnOnce(&DeriveInput, &Path) -> Result<TokenStream>,
) -> TokenStream {
    let expanded = syn::parse2::<DeriveInput>(input).and_then(|input| {
        let rmpi = crate_path(&input)?;
        same_each_time(&input)?;
        derive(&input, &rmpi)
    });
    expanded.unwrap_or_else(Error::into_compile_error)
}

/// Refuses macros in what a type consists of. The code made names the types of the fields more than once, and a
/// macro need not make the same of itself each time: the type map would be that of another type.
fn same_each_time(input: &DeriveInput) -> Result<()> {
    let fields = match &input.data {
        Data::Struct(data) => field_types(&data.fields),
        // Of those that can be derived, no field has a type.
        Data::Enum(_) | Data::Union(_) => Vec::new(),
    };
    let types = fields.into_iter().map(ToTokens::to_token_stream);
    let generics =
        [input.generics.to_token_stream(), input.generics.where_clause.to_token_stream()];
    match types.chain(generics).find_map(called) {
        Some(span) => Err(Error::new(
            span,
            "a macro in a type may make another one of it each time, and MPI would take it for what it is \
             not: name its result outside, as in `type Element = the_macro!();` or `const LENGTH: usize = \
             the_macro!();`, and write that name here",
        )),
        None => Ok(()),
    }
}

/// Where a macro is called, by its name or as an attribute.
fn called(tokens: TokenStream) -> Option<Span> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().enumerate().find_map(|(index, token)| match token {
        TokenTree::Group(group) => called(group.stream()),
        TokenTree::Ident(name) => match tokens.get(index + 1..index + 3) {
            // A keyword is no name: `if !(…)`.
            Some([TokenTree::Punct(mark), TokenTree::Group(_)])
                if mark.as_char() == '!'
                    && syn::parse2::<Ident>(name.to_token_stream()).is_ok() =>
            {
                Some(name.span())
            }
            _ => None,
        },
        TokenTree::Punct(mark) if mark.as_char() == '#' => match tokens.get(index + 1) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
                Some(group.span())
            }
            _ => None,
        },
        _ => None,
    })
}

fn of_union(input: &DeriveInput) -> Error {
    Error::new_spanned(
        &input.ident,
        "a union has no type map: which of its bytes are initialised is not known",
    )
}

/// `#[mpi(crate = "path")]`, as serde has it: who reexports rmpi, or renames it, says where it is.
fn crate_path(input: &DeriveInput) -> Result<Path> {
    let inner = match &input.data {
        Data::Struct(data) => attributes_of(&data.fields).collect(),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|variant| variant.attrs.iter().chain(attributes_of(&variant.fields)))
            .collect(),
        Data::Union(_) => Vec::new(),
    };
    if let Some(misplaced) = inner.into_iter().find(|attribute| attribute.path().is_ident("mpi")) {
        return Err(Error::new_spanned(misplaced, "`#[mpi(…)]` belongs on the type"));
    }

    let mut found = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("mpi")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown: there is only `crate = \"path\"`"));
            }
            let value = meta.value()?;
            let path = if value.peek(LitStr) {
                value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?
            } else {
                value.call(Path::parse_mod_style)?
            };
            match found.replace(path) {
                None => Ok(()),
                Some(_) => Err(meta.error("`crate` is given twice")),
            }
        })?;
    }
    Ok(found.unwrap_or_else(|| parse_quote!(::rmpi)))
}

fn attributes_of(fields: &Fields) -> impl Iterator<Item = &Attribute> {
    fields.iter().flat_map(|field| &field.attrs)
}

fn field_types(fields: &Fields) -> Vec<&Type> {
    fields.iter().map(|field| &field.ty).collect()
}

/// The bounds are on the types of the fields rather than on the parameters: a parameter that is
/// only in a `PhantomData` needs none. Each has the span of its type, so that an error points there.
fn unsafe_impl(
    input: &DeriveInput,
    implemented: &TokenStream,
    bounded: &[&Type],
    items: TokenStream,
) -> TokenStream {
    let name = &input.ident;
    let (parameters, arguments, given) = input.generics.split_for_impl();
    let given = given.iter().flat_map(|given| &given.predicates);
    let bounds = bounded.iter().map(|ty| {
        let implemented = located(implemented, ty.span());
        quote_spanned!(ty.span()=> #ty: #implemented)
    });
    // `derive(Copy)` bounds the parameters, which the fields' bounds need not imply.
    let copy = (!input.generics.params.is_empty())
        .then(|| quote_spanned!(name.span()=> #name #arguments: ::core::marker::Copy,));
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        unsafe impl #parameters #implemented for #name #arguments
        where
            #(#given,)*
            #(#bounds,)*
            #copy
        {
            #items
        }
    }
}

/// The compiler shows a bound where all of its tokens are, and the derive's name if they are of two
/// places. `$crate` means something by its span alone, so it stays.
fn located(path: &TokenStream, span: Span) -> TokenStream {
    let located = path.clone().into_iter().map(|mut token| {
        if token.to_string() != "$crate" {
            token.set_span(span);
        }
        token
    });
    located.collect()
}

fn send_struct(input: &DeriveInput, fields: &Fields, rmpi: &Path) -> TokenStream {
    let send = quote!(#rmpi::SendDatatype);
    let types = field_types(fields);
    let members: Vec<_> = fields.members().collect();
    let bindings: Vec<_> = (0..types.len()).map(|i| format_ident!("field{i}")).collect();
    let items = quote! {
        const TYPE_MAP: &'static #rmpi::TypeMap = {
            // Attribute macros may change the struct after this derive saw it: then no code.
            let _: fn(Self) = |Self { #(#members: #bindings),* }| {
                #(let _: #types = #bindings;)*
            };
            &#rmpi::TypeMap::Struct {
                fields: &[
                    #(#rmpi::Field {
                        offset: ::core::mem::offset_of!(Self, #members),
                        map: <#types as #send>::TYPE_MAP,
                    },)*
                ],
                size: ::core::mem::size_of::<Self>(),
            }
        };
    };
    // SAFETY (of the code made): offsets and size are the compiler's; what is named of a field is
    // initialised, by the field's own type map; the fields' types are those that were seen here,
    // which the closure checks.
    unsafe_impl(input, &send, &types, items)
}

fn send_enum(input: &DeriveInput, data: &DataEnum, rmpi: &Path) -> Result<TokenStream> {
    if data.variants.is_empty() {
        return Err(Error::new_spanned(&input.ident, "an enum without variants has no values"));
    }
    if let Some(variant) = data.variants.iter().find(|variant| !variant.fields.is_empty()) {
        return Err(Error::new_spanned(
            variant,
            "an enum with fields has no type map: which bytes are initialised depends on the \
             variant",
        ));
    }
    let Some(integer) = integer_of(&input.attrs)? else {
        return Err(Error::new_spanned(
            &input.ident,
            "the size of this enum is the compiler's choice: fix it by `#[repr(u8)]` or another \
             integer",
        ));
    };
    let integer = quote!(::core::primitive::#integer);
    let send = quote!(#rmpi::SendDatatype);
    let items = quote! {
        const TYPE_MAP: &'static #rmpi::TypeMap = {
            ::core::assert!(
                ::core::mem::size_of::<Self>() == ::core::mem::size_of::<#integer>(),
                "the enum is not of the size of its integer",
            );
            // Only enums without fields can be cast.
            let _: fn(Self) -> #integer = |value| value as #integer;
            <#integer as #send>::TYPE_MAP
        };
    };
    // SAFETY (of the code made): an enum without fields that has an integer's `repr` has that
    // integer's layout, and all of it is the discriminant.
    Ok(unsafe_impl(input, &send, &[], items))
}

/// The integer in `#[repr(…)]`.
fn integer_of(attributes: &[Attribute]) -> Result<Option<Ident>> {
    const INTEGERS: [&str; 10] =
        ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let hints = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        for hint in hints.iter().filter_map(|hint| hint.path().get_ident()) {
            if INTEGERS.iter().any(|integer| hint == integer) {
                return Ok(Some(hint.clone()));
            }
            if hint == "i128" || hint == "u128" {
                return Err(Error::new(hint.span(), "MPI has no integers of 128 bits"));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(derive: fn(TokenStream) -> TokenStream, input: TokenStream, why: &str) {
        let made = derive(input).to_string();
        assert!(made.contains("compile_error") && made.contains(why), "{made}");
    }

    #[test]
    fn what_cannot_be_received_says_why() {
        refused(
            derive_mpi_datatype,
            quote!(
                enum E {
                    A,
                    B,
                }
            ),
            "Derive `SendDatatype`",
        );
        refused(
            derive_mpi_datatype,
            quote!(
                enum E {
                    A(u8),
                }
            ),
            "without fields",
        );
        refused(derive_mpi_datatype, quote!(union U { a: u8 }), "a union");
        refused(derive_send_datatype, quote!(union U { a: u8 }), "a union");
    }

    #[test]
    fn macros_are_not_asked_twice() {
        for input in [
            quote!(
                struct S(evil::flip!());
            ),
            quote!(
                struct S {
                    x: [u8; length!()],
                }
            ),
            quote!(
                struct S(Vec<(u8, [evil::flip! {}; 2])>);
            ),
            quote!(
                struct S(
                    [u8; {
                        #[evil::attribute]
                        const N: usize = 3;
                        N
                    }],
                );
            ),
            quote!(
                struct S<T>(T)
                where
                    T: Bound<evil::flip!()>;
            ),
        ] {
            refused(derive_mpi_datatype, input.clone(), "name its result outside");
            refused(derive_send_datatype, input, "name its result outside");
        }
        let made = derive_send_datatype(quote!(
            struct S([u8; { if !(A != (B)) { 1 } else { !0 & 3 } }], #[doc = "fine"] u8);
        ));
        assert!(!made.to_string().contains("compile_error"), "{made}");
    }

    #[test]
    fn enums_need_an_integer_and_no_fields() {
        refused(
            derive_send_datatype,
            quote!(
                enum E {
                    A,
                    B,
                }
            ),
            "#[repr(u8)]",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[repr(C)]
                enum E {
                    A,
                    B,
                }
            ),
            "#[repr(u8)]",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[repr(u128)]
                enum E {
                    A,
                    B,
                }
            ),
            "128 bits",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[repr(u8)]
                enum E {
                    A(u8),
                    B,
                }
            ),
            "depends",
        );
        refused(
            derive_send_datatype,
            quote!(
                enum E {}
            ),
            "without variants",
        );
    }

    #[test]
    fn attributes() {
        let made = |input| derive_send_datatype(input).to_string();
        for input in [
            quote!(
                #[mpi(crate = "a::b")]
                struct S(u8);
            ),
            quote!(
                #[mpi(crate = a::b)]
                struct S(u8);
            ),
        ] {
            let made = made(input);
            assert!(made.contains("a :: b :: SendDatatype for S"), "{made}");
            assert!(!made.contains("rmpi"), "{made}");
        }
        assert!(
            made(quote!(
                struct S;
            ))
            .contains(":: rmpi :: SendDatatype for S")
        );
        refused(
            derive_send_datatype,
            quote!(
                #[mpi(skip)]
                struct S;
            ),
            "unknown",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[mpi(crate)]
                struct S;
            ),
            "expected",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[mpi(crate = "1")]
                struct S;
            ),
            "expected",
        );
        refused(
            derive_send_datatype,
            quote!(
                #[mpi(crate = a, crate = b)]
                struct S;
            ),
            "twice",
        );
        refused(
            derive_send_datatype,
            quote!(
                struct S(#[mpi(skip)] u8);
            ),
            "on the type",
        );
    }
}
