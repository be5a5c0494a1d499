//! The arguments of high-level methods: which parameters of a function are one value, and of which type.
//!
//! A type also says which parameter it is for, its *role*, where a function has several that could be
//! mistaken for each other: an argument fits nowhere but where the application has put it.

use mpi_facts::Width;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::list::{Call, Parameter};

/// An argument of a method: one parameter, or some that belong together.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type's name, with what stands before its lifetime.
    pub(crate) ty: Ident,
    lifetimes: Lifetimes,
    /// The type's parameters, where it has any: what is in it, its role, when MPI writes it.
    of: Vec<TokenStream>,
    pub(crate) role: Role,
    /// Which parameters it is made of.
    pub(crate) parts: Vec<usize>,
}

/// Which parameter an argument is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// The type alone says so: no function has two of them, or it cannot reach memory.
    Type,
    /// The type names the parameter.
    Named,
    /// The type names the parameter where the function has several of the type.
    NamedUnlessOnly,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Lifetimes {
    None,
    Call,
    /// Of memory that only the call uses, where it is a blocking one.
    Buffer,
    /// Of memory that only the call uses.
    Status,
    Statuses,
}

impl Argument {
    fn new(parameter: &Parameter, ty: &str, lifetimes: Lifetimes, parts: Vec<usize>) -> Self {
        let name = parameter.name.clone();
        Self { name, ty: format_ident!("{ty}"), lifetimes, of: Vec::new(), role: Role::Type, parts }
    }

    fn of(mut self, of: TokenStream) -> Self {
        self.of.push(of);
        self
    }

    fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Puts the role into the type.
    fn name_role(&mut self) {
        let name = &self.name;
        // In front of it is what is in the type, behind it when it is written.
        let position = usize::from(["Value", "Out", "InOut"].iter().any(|ty| self.is(ty)));
        self.of.insert(position, quote!(arg::#name));
    }

    pub(crate) fn is(&self, ty: &str) -> bool {
        self.ty == ty
    }

    /// The type in a method.
    pub(crate) fn method_type(&self) -> TokenStream {
        self.with_lifetimes(&quote!('c), &quote!('_))
    }

    /// The type in the next function's signature: it takes other memory than the method got, where
    /// the call is over when it returns.
    pub(crate) fn next_type(&self, blocking: bool) -> TokenStream {
        let buffer = if blocking { quote!('_) } else { quote!('c) };
        self.with_lifetimes(&buffer, &quote!('_))
    }

    pub(crate) fn with_lifetimes(&self, buffer: &TokenStream, status: &TokenStream) -> TokenStream {
        let ty = &self.ty;
        let of = &self.of;
        match self.lifetimes {
            Lifetimes::None => quote!(#ty),
            Lifetimes::Call => quote!(#ty<'c #(, #of)*>),
            Lifetimes::Buffer => quote!(#ty<#buffer>),
            Lifetimes::Status => quote!(#ty<#status #(, #of)*>),
            Lifetimes::Statuses => quote!(#ty<'c, #status>),
        }
    }
}

/// Groups a function's parameters.
pub(crate) fn arguments(call: &Call) -> Vec<Argument> {
    let parameters = &call.function.parameters;
    let mut arguments = Vec::new();
    let mut i = 0;
    while i < parameters.len() {
        let argument = group(&parameters[i..], i).unwrap_or_else(|| single(call, i));
        i += argument.parts.len();
        arguments.push(argument);
    }
    let in_outs = arguments.iter().filter(|argument| argument.is("InOut")).count();
    for argument in &mut arguments {
        let several = if argument.is("InOut") {
            in_outs > 1
        } else {
            // The handles in buffers count, too.
            let kind = &parameters[argument.parts[0]].kind;
            parameters.iter().filter(|p| !p.is_pointer() && p.kind == *kind).count() > 1
        };
        if argument.role == Role::Named || argument.role == Role::NamedUnlessOnly && several {
            argument.name_role();
        }
    }
    arguments
}

/// When does MPI write a result, if it accepts the call?
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Always,
    /// If the function's flag is true.
    IfFlag,
    /// When the request of the call is complete.
    Later,
}

fn written(call: &Call, i: usize) -> Written {
    let parameters = &call.function.parameters;
    let is_out = |p: &Parameter, kind: &str| p.is_output() && p.is(kind);
    let is_flag = |p: &Parameter| is_out(p, "Logical") && p.name == "flag";
    let request = |p: &Parameter| is_out(p, "Request") && !p.has_length();
    if parameters.iter().any(is_flag) && !is_flag(&parameters[i]) {
        Written::IfFlag
    } else if parameters.iter().any(request) && !request(&parameters[i]) {
        Written::Later
    } else {
        Written::Always
    }
}

fn group(parameters: &[Parameter], first: usize) -> Option<Argument> {
    let kind = |i: usize, kind: &str| parameters.get(i).is_some_and(|p| p.is(kind));
    let count = |i: usize| kind(i, "XferNumElem") || kind(i, "DtypeNumElem");
    let pointer = |i: usize| parameters.get(i).is_some_and(Parameter::is_pointer);
    let argument = |ty: &str, lifetimes, number: usize| {
        let parts = (first..first + number).collect();
        Some(Argument::new(&parameters[0], ty, lifetimes, parts))
    };
    if kind(0, "Buffer") {
        let read_only = !parameters[0].is_mutable();
        if count(1) && !pointer(1) && kind(2, "Datatype") && !pointer(2) {
            let ty = if read_only { "TypeDynamicBufferRef" } else { "TypeDynamicBufferMut" };
            return argument(ty, Lifetimes::Buffer, 3);
        }
        if kind(1, "Partition") && count(2) && kind(3, "Datatype") {
            let ty = if read_only { "PartitionedRef" } else { "PartitionedMut" };
            return argument(ty, Lifetimes::Buffer, 4);
        }
        if count(1) && pointer(1) && kind(2, "Displacement") && kind(3, "Datatype") {
            let each = if pointer(3) { "Each" } else { "" };
            let mutable = if read_only { "Ref" } else { "Mut" };
            return argument(&format!("Blocks{each}{mutable}"), Lifetimes::Buffer, 4);
        }
        if kind(1, "Buffer") && count(2) && kind(3, "Datatype") {
            let ty = if pointer(2) { "ReductionBlocks" } else { "ReductionBuffers" };
            return argument(ty, Lifetimes::Buffer, 4);
        }
    }
    if kind(0, "Rank") && kind(1, "RmaDisplacement") && count(2) && kind(3, "Datatype") {
        let mut target = argument("Target", Lifetimes::Call, 4)?;
        target.name = format_ident!("target");
        return Some(target);
    }
    if kind(0, "ArrayLength") && kind(1, "Request") && parameters[1].has_length() {
        let ty = if parameters[1].is_mutable() { "RequestsMut" } else { "Requests" };
        let mut requests = argument(ty, Lifetimes::Call, 2)?;
        requests.name = parameters[1].name.clone();
        return Some(requests);
    }
    None
}

fn single(call: &Call, i: usize) -> Argument {
    let parameter = &call.function.parameters[i];
    let ty = &parameter.ty;
    let kind = parameter.kind.to_string();
    let alone = |ty: &str, lifetimes| Argument::new(parameter, ty, lifetimes, vec![i]);
    let is_array = parameter.has_length() || parameter.name.to_string().starts_with("array_");
    if !parameter.is_pointer() {
        match kind.as_str() {
            "Rank" => {
                return match parameter.name.to_string().as_str() {
                    "source" => alone("Source", Lifetimes::Call),
                    "dest" => alone("Destination", Lifetimes::Call),
                    "root" => alone("Root", Lifetimes::Call),
                    _ => alone("RankOf", Lifetimes::Call).role(Role::Named),
                };
            }
            "Tag" | "Color" | "Key" => return alone(&kind, Lifetimes::None),
            "Communicator" | "Datatype" | "Group" | "Operation" | "Window" | "File" | "Session"
            | "Info" | "Errhandler" | "Request" => {
                return alone(&kind, Lifetimes::Call).role(Role::NamedUnlessOnly);
            }
            _ => {}
        }
    } else if kind == "Status" && parameter.is_output() {
        return if is_array {
            alone("StatusesMut", Lifetimes::Statuses)
        } else {
            let status = alone("StatusMut", Lifetimes::Status);
            match written(call, i) {
                Written::IfFlag => status.of(quote!(IfFlag)),
                _ => status,
            }
        };
    } else if !is_array && call.widths[i] == Width::Same {
        let target = parameter.mutable_target();
        let handle = matches!(
            kind.as_str(),
            "Communicator"
                | "Datatype"
                | "Group"
                | "Operation"
                | "Window"
                | "File"
                | "Session"
                | "Info"
                | "Errhandler"
                | "Request"
                | "Message"
        );
        let number = matches!(kind.as_str(), "Logical" | "CommSize" | "Rank" | "ThreadLevel")
            || parameter.name == "index"
            || parameter.name == "indx"
            || parameter.name == "outcount";
        match &target {
            Some(target) if parameter.is_output() && (handle || number) => {
                let out = alone("Out", Lifetimes::Call).of(quote!(#target)).role(Role::Named);
                match written(call, i) {
                    Written::Always => return out,
                    Written::IfFlag => return out.of(quote!(IfFlag)),
                    // Nobody can look at it before the call is over.
                    Written::Later => {}
                }
            }
            Some(target) if handle => {
                let in_out = alone("InOut", Lifetimes::Call).of(quote!(#target));
                return in_out.role(Role::NamedUnlessOnly);
            }
            _ => {}
        }
    }
    let wide = call.twin.as_ref().map_or(ty, |twin| &twin.parameters[i].ty);
    match call.widths[i] {
        Width::Array => alone("Counts", Lifetimes::Call).role(Role::Named),
        _ => alone("Value", Lifetimes::Call).of(quote!(#wide)).role(Role::Named),
    }
}
