//! Whether kernels can be run.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

/// Whether there is an adapter. Without any, says so in one line; with `SHADERLINT_REQUIRE_GPU=1` that is a failure.
pub fn has_adapter() -> bool {
    let has = !shaderlint_verify::run::adapters().is_empty();
    let is_required = std::env::var_os("SHADERLINT_REQUIRE_GPU").is_some_and(|value| value == "1");
    assert!(
        has || !is_required,
        "SHADERLINT_REQUIRE_GPU=1, and there is no adapter"
    );
    if !has {
        eprintln!("skipped: no adapter");
    }
    has
}
