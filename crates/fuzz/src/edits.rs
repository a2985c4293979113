//! Edits that leave most of a kernel as it was: random bytes would hardly get past the parser.

use crate::random::Random;
use crate::seeds::kernels;

const NUMBERS: [&[u8]; 22] = [
    b"0",
    b"1",
    b"2",
    b"3",
    b"5",
    b"8",
    b"16",
    b"31",
    b"32",
    b"33",
    b"63",
    b"64",
    b"65",
    b"128",
    b"1024",
    b"1025",
    b"0x7fffffff",
    b"2147483648",
    b"4294967295u",
    b"0xffffffffffffffff",
    b"1e38",
    b"-1",
];

const OPERATORS: [&[u8]; 26] = [
    b"+", b"-", b"*", b"/", b"%", b"<<", b">>", b"<", b"<=", b">", b">=", b"==", b"!=", b"&", b"|", b"^",
    b"&&", b"||", b"=", b"+=", b"-=", b"<<=", b">>=", b"^=", b"++", b"!",
];

const WORDS: [&[u8]; 60] = [
    b"if",
    b"else",
    b"for",
    b"while",
    b"do",
    b"switch",
    b"case",
    b"default",
    b"break",
    b"continue",
    b"return",
    b"discard",
    b"uint",
    b"int",
    b"float",
    b"bool",
    b"half",
    b"double",
    b"uint2",
    b"float4",
    b"float4x4",
    b"uint64_t",
    b"min16uint",
    b"struct",
    b"template",
    b"typename",
    b"namespace",
    b"static",
    b"const",
    b"groupshared",
    b"inout",
    b"out",
    b"cbuffer",
    b"StructuredBuffer",
    b"RWStructuredBuffer",
    b"RWByteAddressBuffer",
    b"Texture2D",
    b"numthreads",
    b"unroll",
    b"loop",
    b"WaveSize",
    b"GroupMemoryBarrierWithGroupSync();",
    b"AllMemoryBarrierWithGroupSync();",
    b"GroupMemoryBarrier();",
    b"InterlockedAdd",
    b"InterlockedCompareExchange",
    b"WavePrefixSum",
    b"WaveActiveSum",
    b"WaveReadLaneAt",
    b"WaveGetLaneIndex()",
    b"WaveGetLaneCount()",
    b"WaveMatch",
    b"SV_GroupIndex",
    b"SV_GroupThreadID",
    b"SV_DispatchThreadID",
    b"\n#define A(x) x##x #x\n",
    b"\n#if A(1)\n",
    b"\n#else\n",
    b"\n#endif\n",
    b"\n#include \"1\"\n",
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Words, numbers, blanks, and each other character on its own.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let belongs = |a: &u8, b: &u8| (is_word(*a) && is_word(*b)) || (*a == b' ' && *b == b' ');
    text.chunk_by(belongs).collect()
}

/// The text with one to four edits, truncated to `max_size`.
#[must_use]
pub fn mutate(text: &[u8], max_size: usize, seed: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(seed));
    let mut tokens = tokens(text);
    for _ in 0..=random.below(4) {
        edit(&mut tokens, &mut random);
    }
    let mut text = tokens.concat();
    text.truncate(max_size);
    text
}

/// Edits in the way that libFuzzer asks for: the text is the first `size` bytes, before and after. Returns its new
/// size.
pub fn mutate_in_place(bytes: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let new = mutate(bytes.get(..size).unwrap_or_default(), max_size, seed);
    match bytes.get_mut(..new.len()) {
        Some(place) => {
            place.copy_from_slice(&new);
            new.len()
        }
        None => size,
    }
}

fn edit(tokens: &mut Vec<&[u8]>, random: &mut Random) {
    let kind = random.below(14);
    let start = random.below(tokens.len() + 1);
    let long = if random.below(4) == 0 { 60 } else { 8 };
    let count = 1 + random.below(long);
    let end = (start + count).min(tokens.len());
    match kind {
        0 => drop(tokens.drain(start..end)),
        1 => {
            let run = tokens.get(start..end).unwrap_or_default().to_vec();
            tokens.splice(start..start, run);
        }
        2 => {
            let after = (end + count).min(tokens.len());
            if let Some(both) = tokens.get_mut(start..after) {
                both.rotate_left(end - start);
            }
        }
        // A part of another kernel.
        3 | 4 => {
            let other = kernels().get(random.below(kernels().len()));
            let other = self::tokens(other.map_or(&[], Vec::as_slice));
            let from = random.below(other.len());
            let to = (from + count).min(other.len());
            tokens.splice(
                start..start,
                other.get(from..to).unwrap_or_default().iter().copied(),
            );
        }
        5 | 6 => replace(
            tokens,
            random,
            |token| token.first().is_some_and(u8::is_ascii_digit),
            &NUMBERS,
        ),
        7 | 8 => {
            let is_operator = |token: &[u8]| b"+-*/%<>=!&|^".contains(token.first().unwrap_or(&b' '));
            replace(tokens, random, is_operator, &OPERATORS);
        }
        // A word by another one of this kernel.
        9..=11 => {
            let is_name = |token: &[u8]| {
                token
                    .first()
                    .is_some_and(|byte| is_word(*byte) && !byte.is_ascii_digit())
            };
            let names: Vec<&[u8]> = tokens.iter().copied().filter(|token| is_name(token)).collect();
            replace(tokens, random, is_name, &names);
        }
        12 => replace(
            tokens,
            random,
            |token| token.first().copied().is_some_and(is_word),
            &WORDS,
        ),
        _ => {
            let word = random.one(&WORDS).copied();
            tokens.splice(start..start, [b" ".as_slice()].into_iter().chain(word));
        }
    }
}

/// Replaces a token for which `is_one` holds by one of `by`.
fn replace<'t>(
    tokens: &mut [&'t [u8]],
    random: &mut Random,
    is_one: impl Fn(&[u8]) -> bool,
    by: &[&'t [u8]],
) {
    let mut places: Vec<&mut &'t [u8]> = tokens.iter_mut().filter(|token| is_one(token)).collect();
    let chosen = random.below(places.len());
    if let (Some(place), Some(new)) = (places.get_mut(chosen), random.one(by)) {
        **place = new;
    }
}
