//! The evidence as one self-contained page for a browser: the reader's own device can run the kernels.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde::Serialize;
use shaderlint_hlsl::Scalar;
use shaderlint_verify::run::{Case, Inputs, Trial};
use shaderlint_verify::{Binding, BindingKind, Lowered};
use similar::{DiffOp, TextDiff};

use super::evidence::Evidence;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const RUN_SCRIPT: &str = include_str!("run.js");

/// The lines shown around a difference.
const CONTEXT: usize = 6;

/// A page under construction.
#[derive(Default)]
pub(super) struct Page {
    kernels: Vec<serde_json::Value>,
    problem: Option<serde_json::Error>,
}

#[derive(Serialize)]
struct KernelOnPage<'a> {
    #[serde(flatten)]
    evidence: &'a Evidence,
    diff: Vec<DiffRow<'a>>,
    browser: Option<Browser>,
}

/// A line of the flagged kernel beside one of the suggested kernel; numbers start at 1.
#[derive(Serialize)]
struct DiffRow<'a> {
    /// ` ` equal, `-` only in the first, `+` only in the second, `~` different in both, `…` lines are omitted before
    /// this one.
    sign: char,
    left: Option<(usize, &'a str)>,
    right: Option<(usize, &'a str)>,
}

/// Everything a browser needs to run both kernels.
#[derive(Serialize)]
struct Browser {
    flagged: BrowserKernel,
    suggested: BrowserKernel,
    cases: Vec<BrowserCase>,
    /// Threads of a group.
    threads: u32,
    needs_subgroups: bool,
    unordered: Vec<String>,
    /// Buffers that are not compared.
    overwritten: Vec<String>,
    /// `null` if all are contested.
    contested: Option<Vec<String>>,
    /// Why a difference proves nothing.
    open: Option<String>,
    has_floats: bool,
    depth: Option<u32>,
    /// A hash stands for some function; as a float, the hash is below 2.
    has_hashes: bool,
    /// Textures are buffers here, so times say nothing.
    is_untimed: bool,
}

#[derive(Serialize)]
struct BrowserKernel {
    wgsl: String,
    /// With the changed statements repeated.
    ladder: Option<String>,
    bindings: Vec<BrowserBinding>,
}

#[derive(Serialize)]
struct BrowserBinding {
    name: String,
    is_writable: bool,
    stride: u32,
    is_by_address: bool,
    /// Offset in bytes, and whether it is a float.
    words: Vec<(u32, bool)>,
    /// It has more elements if there are more groups.
    grows: bool,
    /// The offsets of words that hold the number of threads of the dispatch.
    counts: Vec<u32>,
}

#[derive(Serialize)]
struct BrowserCase {
    about: &'static str,
    groups: [u32; 3],
    #[serde(flatten)]
    contents: Contents,
    /// With larger buffers and textures, if their sizes are unknown.
    ample: Option<Contents>,
}

/// The initial contents.
#[derive(Serialize)]
struct Contents {
    /// By kernel and binding, in base 64.
    flagged: Vec<String>,
    suggested: Vec<String>,
    /// The number of texels along each axis, by texture.
    extents: BTreeMap<String, Vec<u32>>,
}

impl Page {
    pub fn add(&mut self, evidence: &Evidence, trial: Option<&Trial>) {
        let diff = TextDiff::from_lines(&evidence.flagged.hlsl, &evidence.suggested.hlsl);
        let kernel = KernelOnPage {
            evidence,
            diff: rows(&diff),
            browser: trial.and_then(browser),
        };
        match serde_json::to_value(&kernel) {
            Ok(value) => self.kernels.push(value),
            Err(error) => self.problem = Some(error),
        }
    }

    /// The data of each kernel for the page.
    pub fn kernels(self) -> Result<Vec<serde_json::Value>> {
        match self.problem {
            Some(error) => Err(error).context("the page could not be written"),
            None => Ok(self.kernels),
        }
    }

    pub fn html(self) -> Result<String> {
        let data = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "kernels": self.kernels()?,
        });
        // The script element must not end inside the data.
        let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
        let mut html = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
        for piece in TEMPLATE.split("@@") {
            match piece {
                "STYLE" => html.push_str(STYLE),
                "DATA" => html.push_str(&data),
                "SCRIPT" => write!(html, "{RUN_SCRIPT}\n{SCRIPT}")?,
                text => html.push_str(text),
            }
        }
        Ok(html)
    }
}

fn rows<'a>(diff: &'a TextDiff<'a, 'a, str>) -> Vec<DiffRow<'a>> {
    let line = |at: usize, line: &'a str| (at + 1, line.trim_end_matches(['\r', '\n']));
    let old = |at: usize| diff.old_slice(at).map(|text| line(at, text));
    let new = |at: usize| diff.new_slice(at).map(|text| line(at, text));
    let mut rows = Vec::new();
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            rows.push(DiffRow {
                sign: '…',
                left: None,
                right: None,
            });
        }
        for op in group {
            let (before, after) = (op.old_range(), op.new_range());
            for at in 0..before.len().max(after.len()) {
                let left = (at < before.len()).then(|| old(before.start + at)).flatten();
                let right = (at < after.len()).then(|| new(after.start + at)).flatten();
                let sign = match (op, &left, &right) {
                    (DiffOp::Equal { .. }, ..) => ' ',
                    (_, Some(_), Some(_)) => '~',
                    (_, Some(_), None) => '-',
                    _ => '+',
                };
                rows.push(DiffRow { sign, left, right });
            }
        }
    }
    rows
}

fn browser(trial: &Trial) -> Option<Browser> {
    let wgsl = |kernel: &Lowered| shaderlint_verify::wgsl(kernel, true).ok();
    let (slow, fast) = match &trial.ladders {
        Some((slow, fast)) => (wgsl(slow), wgsl(fast)),
        None => (None, None),
    };
    let kernel = |kernel: &Lowered, ladder: Option<String>| {
        Some(BrowserKernel {
            wgsl: wgsl(kernel)?,
            ladder,
            bindings: kernel.bindings.iter().map(|one| binding(trial, one)).collect(),
        })
    };
    let bytes = |kernel: &Lowered, inputs: &Inputs| -> Option<Vec<String>> {
        let buffers = kernel.bindings.iter().map(|binding| inputs.bytes(binding).ok());
        buffers.map(|bytes| Some(base64(&bytes?))).collect()
    };
    let contents = |case: &Case| {
        let inputs = trial.inputs(case);
        Some(Contents {
            flagged: bytes(&trial.flagged, &inputs)?,
            suggested: bytes(&trial.fixed, &inputs)?,
            extents: extents(trial, &inputs),
        })
    };
    let cases = trial.cases.iter().map(|case| {
        let ample = if trial.are_lengths_known {
            None
        } else {
            trial.ample(case)
        };
        Some(BrowserCase {
            about: case.about,
            groups: case.groups,
            contents: contents(case)?,
            ample: ample.as_ref().and_then(contents),
        })
    });
    let cases: Option<Vec<BrowserCase>> = cases.collect();
    Some(Browser {
        flagged: kernel(&trial.flagged, slow)?,
        suggested: kernel(&trial.fixed, fast)?,
        cases: cases?,
        threads: trial.flagged.group_size.iter().product(),
        needs_subgroups: trial.flagged.uses_subgroups || trial.fixed.uses_subgroups,
        unordered: trial.unordered.iter().cloned().collect(),
        overwritten: trial.overwritten.iter().cloned().collect(),
        open: trial.open.clone(),
        has_floats: trial.flagged.has_floats() || trial.fixed.has_floats(),
        contested: trial
            .contested
            .as_ref()
            .map(|names| names.iter().cloned().collect()),
        depth: trial.depth,
        has_hashes: !trial.flagged.replaced.is_empty(),
        is_untimed: has_textures(trial),
    })
}

fn extents(trial: &Trial, inputs: &Inputs) -> BTreeMap<String, Vec<u32>> {
    let bindings = trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
    bindings
        .filter_map(|binding| {
            let axes = usize::from(binding.dimensions?);
            let size = inputs.texture_size(binding)?;
            Some((binding.name.clone(), size.into_iter().take(axes).collect()))
        })
        .collect()
}

fn has_textures(trial: &Trial) -> bool {
    let mut bindings = trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
    bindings.any(|binding| binding.dimensions.is_some())
}

fn binding(trial: &Trial, binding: &Binding) -> BrowserBinding {
    // A word that differs between 1 group and 2 groups depends on the number of threads.
    let given = |x: u32| {
        let inputs = trial.inputs(&Case {
            about: "",
            groups: [x, 1, 1],
            inputs: trial.timed_inputs.clone(),
            is_extra: false,
        });
        inputs
            .bytes(binding)
            .map(std::borrow::Cow::into_owned)
            .unwrap_or_default()
    };
    let (one, two) = (given(1), given(2));
    let grows = one.len() != two.len();
    let is_uniform = matches!(binding.kind, BindingKind::Uniform { .. });
    let words = one.chunks_exact(4).zip(two.chunks_exact(4));
    let counts = (0u32..).step_by(4).zip(words).filter(|(_, (a, b))| a != b);
    BrowserBinding {
        name: binding.name.clone(),
        is_writable: binding.kind.is_writable(),
        stride: binding.element.stride.max(4),
        is_by_address: binding.is_by_address,
        words: (binding.element.words.iter())
            .map(|word| (word.offset, word.scalar == Scalar::Float))
            .collect(),
        grows,
        counts: if is_uniform {
            counts.map(|(at, _)| at).collect()
        } else {
            Vec::new()
        },
    }
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for digit in 0..4 {
            if digit > chunk.len() {
                text.push('=');
            } else {
                let index = bits >> (18 - 6 * digit) & 63;
                text.push(char::from(DIGITS[index as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let expected = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (text, encoded) in expected {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn lines_stand_beside_each_other() {
        let diff = TextDiff::from_lines("a\nb\nc\n", "a\nx\ny\nc\n");
        let signs: Vec<char> = rows(&diff).iter().map(|row| row.sign).collect();
        assert_eq!(signs, [' ', '~', '+', ' ']);
    }
}
