#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shaderlint_fuzz::on_deep_stack(shaderlint_fuzz::server, bytes));
