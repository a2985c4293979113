#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shaderlint_fuzz::on_deep_stack(
    shaderlint_fuzz::preprocessor,
    bytes
));
libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 4 == 0 {
        return libfuzzer_sys::fuzzer_mutate(bytes, size, max_size);
    }
    shaderlint_fuzz::mutate_in_place(bytes, size, max_size, seed)
});
