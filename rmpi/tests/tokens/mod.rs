//! What the library's source does, token by token: what is in a comment, in a text, in an `use` or in an
//! expression is not what it defines.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The library's source: code, and the macros that it defines.
pub(crate) struct Source {
    code: Vec<Vec<TokenTree>>,
    macros: BTreeMap<String, Vec<TokenTree>>,
}

fn trees(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

fn is(tree: Option<&TokenTree>, text: &str) -> bool {
    match tree {
        Some(TokenTree::Ident(ident)) => ident == text,
        Some(TokenTree::Punct(punct)) => text == punct.as_char().to_string(),
        _ => false,
    }
}

fn ident(tree: Option<&TokenTree>) -> Option<String> {
    match tree {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn group(tree: Option<&TokenTree>) -> Option<&Group> {
    match tree {
        Some(TokenTree::Group(group)) => Some(group),
        _ => None,
    }
}

/// Shows each place in the tokens, at any depth: the token before, and all from there on.
fn each(trees: &[TokenTree], see: &mut dyn FnMut(Option<&TokenTree>, &[TokenTree])) {
    for index in 0..trees.len() {
        see(index.checked_sub(1).map(|before| &trees[before]), &trees[index..]);
        if let TokenTree::Group(group) = &trees[index] {
            each(&self::trees(group.stream()), see);
        }
    }
}

/// All names in the tokens, but for those of what a macro got.
fn idents(group: &Group) -> BTreeSet<String> {
    let mut idents = BTreeSet::new();
    each(&trees(group.stream()), &mut |before, here| {
        if !is(before, "$") {
            idents.extend(ident(here.first()));
        }
    });
    idents
}

/// `NAME! { … }`
fn invocation(here: &[TokenTree]) -> Option<(String, &Group)> {
    let name = ident(here.first())?;
    is(here.get(1), "!").then_some(())?;
    Some((name, group(here.get(2))?))
}

/// The function of `#[wraps(MPI_X)]` or `#[wraps(MPI_X in Self)]`; in a macro the first token may be a `$`.
fn attribute(before: Option<&TokenTree>, here: &[TokenTree]) -> Option<TokenTree> {
    let first = is(here.first(), "wraps") && before.is_none();
    trees(group(here.get(1)).filter(|_| first)?.stream()).into_iter().next()
}

impl Source {
    pub(crate) fn new(files: &[String]) -> Self {
        let mut source = Self { code: Vec::new(), macros: BTreeMap::new() };
        for file in files {
            let stream = file.parse().expect("the source is Rust");
            let code = source.take_macros(trees(stream));
            source.code.push(code);
        }
        source
    }

    /// Keeps the macros that are defined in these tokens, and gives back the rest.
    fn take_macros(&mut self, trees: Vec<TokenTree>) -> Vec<TokenTree> {
        let mut rest = Vec::new();
        let mut index = 0;
        while index < trees.len() {
            let defined = is(trees.get(index), "macro_rules") && is(trees.get(index + 1), "!");
            if let (true, Some(name), Some(body)) =
                (defined, ident(trees.get(index + 2)), group(trees.get(index + 3)))
            {
                // Files may have macros of one name: each is as able as all of them.
                self.macros.entry(name).or_default().extend(body.stream());
                index += 4;
                continue;
            }
            rest.push(match &trees[index] {
                TokenTree::Group(group) => {
                    let inside = self.take_macros(self::trees(group.stream()));
                    Group::new(group.delimiter(), inside.into_iter().collect()).into()
                }
                other => other.clone(),
            });
            index += 1;
        }
        rest
    }

    fn see(&self, see: &mut dyn FnMut(Option<&TokenTree>, &[TokenTree])) {
        self.code.iter().chain(self.macros.values()).for_each(|trees| each(trees, see));
    }

    /// The macros that have something in their bodies, or use one that has.
    fn macros_with(&self, has: fn(Option<&TokenTree>, &[TokenTree]) -> bool) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        loop {
            let before = found.len();
            for (name, body) in &self.macros {
                each(body, &mut |before, here| {
                    let uses = invocation(here).is_some_and(|(used, _)| found.contains(&*used));
                    if uses || has(before, here) {
                        found.insert(&**name);
                    }
                });
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// The functions of MPI that have a wrapper, or are called: those of `#[wraps(MPI_X)]`, of `MPI_X(…)`, and what
    /// is given to a macro that puts it there.
    pub(crate) fn wrapped(&self) -> BTreeSet<String> {
        let makers = self.macros_with(|before, here| {
            attribute(before, here).is_some_and(|first| is(Some(&first), "$"))
        });
        let mut wrapped = BTreeSet::new();
        self.see(&mut |before, here| {
            wrapped.extend(attribute(before, here).and_then(|first| ident(Some(&first))));
            if let Some((name, inside)) = invocation(here)
                && makers.contains(&*name)
            {
                wrapped.extend(idents(inside));
            }
            let call = group(here.get(1)).is_some_and(|arguments| {
                arguments.delimiter() == Delimiter::Parenthesis && !is(before, "fn")
            });
            if call {
                wrapped.extend(ident(here.first()));
            }
        });
        wrapped.retain(|name| name.starts_with("MPI_"));
        wrapped
    }

    /// The functions that the source defines: `fn name`, and what is given to a macro that writes one of that name.
    pub(crate) fn functions(&self) -> BTreeSet<String> {
        let makers = self.macros_with(|_, here| is(here.first(), "fn") && is(here.get(1), "$"));
        let mut functions = BTreeSet::new();
        self.see(&mut |_, here| {
            if is(here.first(), "fn") {
                functions.extend(ident(here.get(1)));
            }
            if let Some((name, inside)) = invocation(here)
                && makers.contains(&*name)
            {
                functions.extend(idents(inside));
            }
        });
        functions
    }
}

#[test]
fn a_mention_is_no_wrapper() {
    let source = r#"
        //! MPI_Comment()
        use call::MPI_Used;
        /// [`MPI_Documented`](MPI_Documented())
        const NAME: &str = "MPI_Text()";
        fn MPI_Defined() { let f = MPI_Value; other! { f = MPI_Passed } }
        #[wraps(MPI_Wrapped)]
        fn wrapped() { mpi.MPI_Called(1) }
        #[wraps(MPI_In in Self)]
        fn associated() {}
        macro_rules! other { ($name:ident = $function:ident) => { const A: u8 = $function; } }
        macro_rules! outer { ($($all:tt)*) => { inner! { $($all)* } } }
        macro_rules! inner { ($name:ident = $function:ident) => {
            #[wraps($function)]
            fn $name() {}
        } }
        outer! { given = MPI_Given }
    "#;
    let source = Source::new(&[source.into()]);
    let all = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>();
    assert_eq!(all(source.wrapped()), ["MPI_Called", "MPI_Given", "MPI_In", "MPI_Wrapped"]);
    let functions = ["MPI_Defined", "MPI_Given", "associated", "given", "wrapped"];
    assert_eq!(all(source.functions()), functions);
}
