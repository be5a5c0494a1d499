//! What rmpi promises not to compile, and why the compiler says that it does not.

#[test]
fn promises() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
