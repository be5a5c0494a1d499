//! The list and the ABI module against the header of the MPI in use, as bindgen reads it: every
//! prototype, every type, every constant.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use common::{expect_none, lines};
use mpi_sys::{ABI, Abi};
use quote::ToTokens;
use syn::{Expr, ForeignItem, Item, Lit, Type};

/// What a source of declarations has, in words that both sides share.
#[derive(Default)]
struct Declarations {
    aliases: BTreeMap<String, Type>,
    structs: BTreeMap<String, Vec<(String, Type)>>,
    functions: BTreeMap<String, (Vec<Type>, Type)>,
    constants: BTreeMap<String, i64>,
}

impl Declarations {
    fn read(source: &str) -> Self {
        let file = syn::parse_file(source).expect("is Rust");
        let mut all = Self::default();
        for item in file.items {
            match item {
                Item::Type(item) => {
                    all.aliases.insert(item.ident.to_string(), *item.ty);
                }
                Item::Struct(item) => {
                    let fields = item.fields.into_iter().map(|field| {
                        (field.ident.map(|name| name.to_string()).unwrap_or_default(), field.ty)
                    });
                    all.structs.insert(item.ident.to_string(), fields.collect());
                }
                Item::Const(item) => {
                    if let Some(number) = number(&item.expr) {
                        all.constants.insert(item.ident.to_string(), number);
                    }
                }
                Item::ForeignMod(block) => {
                    for item in block.items {
                        let ForeignItem::Fn(function) = item else { continue };
                        let arguments = function.sig.inputs.iter().map(|input| match input {
                            syn::FnArg::Typed(argument) => (*argument.ty).clone(),
                            syn::FnArg::Receiver(_) => unreachable!("C has no self"),
                        });
                        let arguments = arguments.collect();
                        let result = match function.sig.output {
                            syn::ReturnType::Type(_, ty) => *ty,
                            syn::ReturnType::Default => syn::parse_quote!(()),
                        };
                        all.functions.insert(function.sig.ident.to_string(), (arguments, result));
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// A type in terms that do not depend on who declares it: aliases resolved, C's integers by
    /// width, pointers without `const`.
    fn canonical(&self, ty: &Type) -> String {
        match ty {
            Type::Ptr(pointer) => format!("*{}", self.canonical(&pointer.elem)),
            Type::Array(array) => {
                let length = number(&array.len).expect("a literal length");
                format!("[{}; {length}]", self.canonical(&array.elem))
            }
            Type::Path(path) => {
                let last = path.path.segments.last().expect("a path has a segment");
                if last.ident == "Option" {
                    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
                        panic!("Option of nothing")
                    };
                    let syn::GenericArgument::Type(inner) = &arguments.args[0] else {
                        panic!("Option of no type")
                    };
                    return self.canonical(inner);
                }
                let name = last.ident.to_string();
                match name.as_str() {
                    "c_char" => "i8".into(),
                    "c_int" => "i32".into(),
                    "c_uint" => "u32".into(),
                    "c_long" | "c_longlong" | "isize" => "i64".into(),
                    "c_ulong" | "usize" => "u64".into(),
                    "c_double" => "f64".into(),
                    "c_void" => "void".into(),
                    _ => match self.aliases.get(&name) {
                        Some(aliased) => self.canonical(aliased),
                        None => self.name_of_struct(name),
                    },
                }
            }
            Type::BareFn(function) => {
                let inputs: Vec<_> =
                    function.inputs.iter().map(|input| self.canonical(&input.ty)).collect();
                let output = match &function.output {
                    syn::ReturnType::Type(_, ty) => self.canonical(ty),
                    syn::ReturnType::Default => "()".into(),
                };
                let dots = if function.variadic.is_some() { ", ..." } else { "" };
                format!("fn({}{dots}) -> {output}", inputs.join(", "))
            }
            Type::Tuple(tuple) if tuple.elems.is_empty() => "()".into(),
            other => other.to_token_stream().to_string(),
        }
    }

    /// `MPI_Status` for Open MPI's `ompi_status_public_t`.
    fn name_of_struct(&self, tag: String) -> String {
        if !self.structs.contains_key(&tag) {
            return tag;
        }
        let of_tag = |ty: &Type| match ty {
            Type::Path(path) => path.path.is_ident(&tag),
            _ => false,
        };
        let mut names = self.aliases.iter().filter(|(_, ty)| of_tag(ty)).map(|(name, _)| name);
        names.find(|name| name.starts_with("MPI_")).cloned().unwrap_or(tag)
    }

    fn signature(&self, name: &str) -> Option<String> {
        let (arguments, result) = self.functions.get(name)?;
        let arguments: Vec<_> = arguments.iter().map(|ty| self.canonical(ty)).collect();
        Some(format!("({}) -> {}", arguments.join(", "), self.canonical(result)))
    }
}

/// The value of a constant's expression, in the forms that the ABI modules and bindgen have.
fn number(expression: &Expr) -> Option<i64> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(integer) => integer.base10_parse::<i128>().ok().map(|value| value as i64),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => Some(-number(&unary.expr)?),
        // `0x8400_0001_u32 as MPI_Datatype` is the negative int of those bits, and `as MPI_Offset` a positive number.
        Expr::Cast(cast) if is_long(&cast.ty) => number(&cast.expr),
        Expr::Cast(cast) => match number(&cast.expr)? {
            value if value > i64::from(i32::MAX) && value <= i64::from(u32::MAX) => {
                Some(i64::from(value as u32 as i32))
            }
            value => Some(value),
        },
        // `ptr::null_mut()` and `ptr::without_provenance_mut(1)`.
        Expr::Call(call) => call.args.first().map_or(Some(0), number),
        _ => None,
    }
}

/// Has a type more bits than an `int`, by its name?
fn is_long(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let name = path.path.segments.last().map(|segment| segment.ident.to_string());
    let long = ["MPI_Offset", "MPI_Aint", "MPI_Count", "i64", "u64", "c_long", "c_longlong"];
    name.is_some_and(|name| long.contains(&name.as_str()))
}

/// `$MPICC -E` of `mpi.h`, macros kept.
fn preprocessed() -> String {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("all.c");
    std::fs::write(&source, "#include <mpi.h>\n").unwrap();
    let output =
        Command::new(&mpicc).args(["-E", "-dD", "-P"]).arg(&source).output().expect("mpicc runs");
    assert!(output.status.success(), "{mpicc}: {}", String::from_utf8_lossy(&output.stderr));
    // The compiler's own macros are not clang's.
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with("#define __") && !line.starts_with("#undef __"))
        .fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
}

fn theirs(header: &str, constants: &[String]) -> Declarations {
    let mut source = header.to_owned() + "#ifndef NULL\n#define NULL ((void *)0)\n#endif\n";
    // Constants are macros and enumerators; a constant of our own makes bindgen evaluate them.
    for name in constants {
        let _ = writeln!(source, "static const long long value_{name} = (long long)({name});");
    }
    let bindings = bindgen::Builder::default()
        .header_contents("mpi.h", &source)
        .allowlist_item("MPI_.*|value_MPI_.*")
        .layout_tests(false)
        .derive_debug(false)
        .generate()
        .expect("bindgen reads mpi.h (it needs libclang: run the tests by `cargo xtask test`)");
    let mut all = Declarations::read(&bindings.to_string());
    all.constants = all
        .constants
        .into_iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("value_")?.to_owned(), value)))
        .collect();
    all
}

/// Our module's text: what is checked in is what is compared.
fn ours() -> (Declarations, BTreeMap<String, String>) {
    let source = match ABI {
        Abi::Mpich => include_str!("../src/abi/mpich.rs"),
        Abi::OpenMpi => include_str!("../src/abi/openmpi.rs"),
        Abi::Standard => include_str!("../src/abi/standard.rs"),
    };
    let mut all = Declarations::read(source);
    let mut add = |text: &str| {
        let more = Declarations::read(text);
        all.aliases.extend(more.aliases);
    };
    add(callback_types());
    // `opaque! { HANDLE = tag; }`
    let lines = || source.lines().map(str::trim).map(|line| line.trim_end_matches(';'));
    for line in lines().filter(|line| line.starts_with("MPI_") && !line.contains(':')) {
        if let Some((handle, tag)) = line.split_once(" = ") {
            add(&format!("pub type {handle} = *mut {tag};"));
        }
    }
    // `address_handles!`: NAME: TYPE = symbol;
    let addresses = lines()
        .filter_map(|line| line.split_once(": MPI_"))
        .filter(|(name, _)| name.starts_with("MPI_"))
        .filter_map(|(name, rest)| Some((name.to_owned(), rest.split_once(" = ")?.1.to_owned())))
        .collect();
    let functions: String = lines_of_list();
    all.functions = Declarations::read(&functions).functions;
    (all, addresses)
}

fn lines_of_list() -> String {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for line in lines() {
        // Drops the kinds: `buf: *const c_void = in Buffer` is an argument and more.
        let (arguments, result) = line.signature.rsplit_once(" -> ").unwrap();
        let arguments: Vec<_> = arguments[1..arguments.len() - 1]
            .split(", ")
            .filter(|argument| !argument.is_empty())
            .map(|argument| argument.split(" = ").next().unwrap())
            .collect();
        let dots = if line.name == "MPI_Pcontrol" { ", ..." } else { "" };
        let _ = writeln!(text, "fn {}({}{dots}) -> {result};", line.name, arguments.join(", "));
    }
    text + "}\n"
}

/// What `callback_types!` makes, which is what stands in it.
fn callback_types() -> &'static str {
    let source = include_str!("../src/abi/mod.rs");
    let start = source.find("macro_rules! callback_types").expect("the macro is there");
    let body = &source[start..];
    let body = &body[body.find("() => {").unwrap() + "() => {".len()..];
    &body[..body.find("    };\n}").unwrap()]
}

#[test]
fn agrees_with_mpi_h() {
    let header = preprocessed();
    let (ours, addresses) = ours();
    let in_header = |name: &str| {
        header.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    };
    let names: Vec<String> =
        ours.constants.keys().filter(|name| in_header(name)).cloned().collect();
    let declared = theirs(&header, &names);
    let theirs = &declared;
    let mut differences = Vec::new();

    let mut compared = 0;
    for name in ours.functions.keys() {
        let (ours, theirs) = (ours.signature(name), theirs.signature(name));
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        compared += 1;
        if ours != theirs {
            differences.push(format!("{name}:\n    list:   {ours}\n    header: {theirs}"));
        }
    }
    // MPI-3.1 has 399.
    assert!(compared >= 399, "only {compared} prototypes of the list are in the header");
    // Open MPI's own, under a name of the standard's.
    let extension = |name: &str| ABI == Abi::OpenMpi && name == "MPI_Session_set_info";
    let unlisted = |name: &&String| !ours.functions.contains_key(*name) && !extension(name);
    for name in theirs.functions.keys().filter(unlisted) {
        differences.push(format!("{name}: in the header, not in the list"));
    }

    for (name, ty) in &ours.aliases {
        if let Some(theirs_type) = theirs.aliases.get(name) {
            let (ours, theirs) = (ours.canonical(ty), theirs.canonical(theirs_type));
            if ours != theirs {
                differences.push(format!("{name}:\n    ours:   {ours}\n    header: {theirs}"));
            }
        }
    }
    let fields = |all: &Declarations, name: &str| {
        let fields = all.structs.get(name).or_else(|| match all.aliases.get(name)? {
            Type::Path(path) => all.structs.get(&path.path.segments.last()?.ident.to_string()),
            _ => None,
        })?;
        Some(fields.iter().map(|(name, ty)| (name.clone(), all.canonical(ty))).collect::<Vec<_>>())
    };
    for name in ["MPI_Status", "MPI_F08_status"] {
        let (ours, theirs) = (fields(&ours, name), fields(theirs, name));
        assert!(ours.is_some());
        if theirs.is_some() && ours != theirs {
            differences.push(format!("{name}:\n    ours:   {ours:?}\n    header: {theirs:?}"));
        }
    }

    for name in &names {
        let (ours, theirs) = (ours.constants.get(name), theirs.constants.get(name));
        // Optional types of Fortran are null where the library was built without them.
        let optional = ["MPI_INTEGER", "MPI_REAL", "MPI_COMPLEX", "MPI_LOGICAL"]
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|size| size.parse::<u8>().is_ok()));
        let is_null = optional && theirs == declared.constants.get("MPI_DATATYPE_NULL");
        // More than Intel MPI asks for.
        let is_enough = name == "MPI_BSEND_OVERHEAD" && ours >= theirs;
        if ours != theirs && !is_null && !is_enough {
            differences.push(format!("{name}: ours {ours:?}, header {theirs:?}"));
        }
    }
    assert!(names.len() >= 190, "only {} constants are in the header", names.len());
    for (name, symbol) in &addresses {
        let define = format!("#define {name} ");
        let Some(value) = header.lines().find_map(|line| line.strip_prefix(&define)) else {
            continue;
        };
        if !value.trim_end_matches([' ', ')']).ends_with(&format!(" {symbol}")) {
            differences.push(format!("{name}: ours {symbol}, header {value}"));
        }
    }
    assert_eq!(addresses.is_empty(), ABI != Abi::OpenMpi);
    expect_none("the crate and mpi.h", &differences);
}

/// A function of a version that the library claims is in the library: else our version is wrong.
#[test]
fn first_versions_agree_with_the_version_that_the_header_claims() {
    let header = preprocessed();
    let define = |name: &str| -> u32 {
        let define = format!("#define {name} ");
        let value = header.lines().find_map(|line| line.strip_prefix(&define)).unwrap();
        value.trim().parse().unwrap()
    };
    let claimed = (define("MPI_VERSION"), define("MPI_SUBVERSION"));
    let declares = |name: &str| {
        header.match_indices(name).any(|(at, _)| {
            let before = header[..at].chars().next_back();
            let after = header[at + name.len()..].trim_start();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && after.starts_with('(')
        })
    };
    // What libraries lack of what they claim.
    let is_known = |name: &str| match ABI {
        // The Fortran conversions of the standard ABI belong to the Fortran library.
        Abi::Standard => {
            ["_c2f", "_f2c", "f08", "f082c", "f082f"].iter().any(|end| name.ends_with(end))
        }
        // Added by an erratum to MPI-4.0, and MPICH 4.0.2 is older.
        Abi::Mpich if claimed == (4, 0) => name == "MPI_Status_set_elements_c",
        // Those of Fortran's newer statuses came with MPICH 4 and Open MPI 5.
        _ => claimed < (4, 0) && name.starts_with("MPI_Status_") && name.contains("f08"),
    };
    let missing: Vec<String> = lines()
        .into_iter()
        .filter(|line| line.version <= claimed && !declares(&line.name) && !is_known(&line.name))
        // Some of MPI-1's functions were removed by MPI-3.0.
        .filter(|line| line.version > (1, 2) || claimed < (3, 0))
        .map(|line| format!("{}: MPI-{}.{}", line.name, line.version.0, line.version.1))
        .collect();
    expect_none(&format!("functions up to MPI-{}.{}", claimed.0, claimed.1), &missing);
}
