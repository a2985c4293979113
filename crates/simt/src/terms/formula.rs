//! Terms rendered for people, as of the first group.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Scalar, Shader};

use crate::terms::operator::Operator;
use crate::terms::sample::Sample;
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms, Words};

impl Terms {
    /// A value as a formula of the kernel's inputs, in the first group.
    pub(crate) fn formula(&self, shader: &Shader, value: &Value, is_float: bool) -> String {
        let parts = match value {
            Value::Known(word) => return number(*word, is_float),
            Value::Run { operator, start, end } => {
                return self.run_formula(shader, *operator, [*start, *end], false);
            }
            Value::Sum(sum) => sum,
        };
        let sign = operator_sign(parts.operator);
        let has_constant = parts.constant != parts.operator.identity();
        let is_one_of_several = parts.parts.len() > 1 || has_constant;
        let mut pieces: Vec<String> = parts
            .parts
            .iter()
            .take(4)
            .map(|part| {
                let run =
                    |is_operand| self.run_formula(shader, parts.operator, [part.start, part.end], is_operand);
                match part.factor {
                    1 => run(is_one_of_several),
                    // The factor of a product is an exponent, not a multiple.
                    times if matches!(parts.operator, Operator::Mul | Operator::FloatMul) => {
                        let mut factors = vec![run(true); times.min(4) as usize];
                        factors.extend((times > 4).then(|| "…".to_owned()));
                        factors.join(sign)
                    }
                    u32::MAX => format!("-({})", run(false)),
                    factor => format!("{factor} * ({})", run(false)),
                }
            })
            .collect();
        if parts.parts.len() > 4 {
            pieces.push("…".to_owned());
        }
        if has_constant {
            pieces.push(number(parts.constant, parts.operator.is_on(Scalar::Float)));
        }
        pieces.join(sign)
    }

    /// The formula of a run of atoms, as an operand of its operator or alone.
    fn run_formula(
        &self,
        shader: &Shader,
        operator: Operator,
        [start, end]: [u32; 2],
        is_operand: bool,
    ) -> String {
        let sign = operator_sign(operator);
        let operand = |atom| {
            let formula = self.atom_formula(shader, atom);
            if self.has_operator(atom) {
                format!("({formula})")
            } else {
                formula
            }
        };
        match end - start {
            1 if is_operand => operand(start),
            1 => self.atom_formula(shader, start),
            2 => format!("{}{sign}{}", operand(start), operand(start + 1)),
            _ => format!("{}{sign}…{sign}{}", operand(start), operand(end - 1)),
        }
    }

    /// Whether the formula of an atom contains an operator.
    fn has_operator(&self, atom: u32) -> bool {
        match self.term(atom) {
            Some(Term::Apply(Op::Opaque { text, .. }, _)) => self.name(*text).contains(' '),
            Some(Term::Apply(
                Op::Cast {
                    to: Scalar::Float, ..
                }
                | Op::Same,
                arguments,
            )) => match arguments.first() {
                Some(Value::Run { start, end, .. }) => end - start > 1 || self.has_operator(*start),
                Some(Value::Sum(_)) => true,
                Some(Value::Known(_)) | None => false,
            },
            _ => false,
        }
    }

    fn atom_formula(&self, shader: &Shader, atom: u32) -> String {
        let Some(Term::Apply(op, arguments)) = self.term(atom) else {
            return "an undefined value".to_owned();
        };
        let mut sample = Sample::new(self, 0);
        let first = arguments.first();
        match op {
            Op::Load { resource, component }
            | Op::VolatileLoad {
                resource, component, ..
            } => {
                // A volatile load has its thread as the last argument.
                let places = match op {
                    Op::Load { .. } => arguments,
                    _ => arguments.split_last().map_or(&[][..], |(_, places)| places),
                };
                let places = places.iter().filter(|place| !self.is_offset(place));
                let mut index: Vec<u32> = places.map(|place| sample.value(place)).collect();
                let mut component = *component;
                let words = self.inputs.get(resource).map(|input| input.words);
                if let (Some(Words::Bytes), [address]) = (words, index.as_mut_slice()) {
                    *address = address.wrapping_add(4 * std::mem::take(&mut component));
                }
                let name = self.name(*resource);
                format!("{name}{}{}", indices(&index), part(shader, name, component))
            }
            Op::Uniform { name, component } => {
                let name = self.name(*name);
                format!("{name}{}", part(shader, name, *component))
            }
            Op::GroupId(axis) => format!(
                "SV_GroupID.{}",
                ["x", "y", "z"].get(usize::from(*axis)).unwrap_or(&"x")
            ),
            Op::Uninitialised { array, index } => {
                format!("{}[{index}] (never written)", self.name(*array))
            }
            Op::Opaque { text, .. } => self.name(*text).to_owned(),
            Op::Cast {
                to: Scalar::Float, ..
            }
            | Op::Same => first
                .map(|value| self.formula(shader, value, false))
                .unwrap_or_default(),
            Op::AtomicResult { .. } => "the old value of an atomic".to_owned(),
            _ => self.function_of(shader, arguments),
        }
    }

    /// The inputs of a term that is no sum of them.
    fn function_of(&self, shader: &Shader, arguments: &[Value]) -> String {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<u32> = arguments.iter().rev().flat_map(Value::atoms).collect();
        let mut inputs: Vec<String> = Vec::new();
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) {
                continue;
            }
            match self.term(atom) {
                Some(Term::Apply(op, arguments)) if is_made(*op) => {
                    waiting.extend(arguments.iter().rev().flat_map(Value::atoms));
                }
                _ => {
                    let input = self.atom_formula(shader, atom);
                    if inputs.contains(&input) {
                        continue;
                    }
                    if inputs.len() == SHOWN {
                        inputs.push("…".to_owned());
                        break;
                    }
                    inputs.push(input);
                }
            }
        }
        match inputs.as_slice() {
            [] => "some value".to_owned(),
            inputs => format!("a function of {}", inputs.join(", ")),
        }
    }
}

/// How many inputs of a function are shown.
const SHOWN: usize = 3;

/// Whether the operands say more than the operation: for arithmetic, and for atoms without a readable name.
fn is_made(op: Op) -> bool {
    op.is_arithmetic() || matches!(op, Op::Free { .. } | Op::Havoc { .. })
}

/// A word, written as a number.
pub(crate) fn number(word: u32, is_float: bool) -> String {
    if is_float {
        format!("{:?}", f32::from_bits(word))
    } else {
        word.to_string()
    }
}

/// The indices of an element, written as the suffix behind the name. A large one is a negative number, as in
/// [`crate::exec::place::index_outside`]: no resource has so many elements.
pub(crate) fn indices(words: &[u32]) -> String {
    let indices: Vec<String> = words.iter().map(|word| word.cast_signed().to_string()).collect();
    format!("[{}]", indices.join("]["))
}

/// A component of the named global, written as the suffix behind its name.
pub(crate) fn part(shader: &Shader, name: &str, component: u32) -> String {
    let named = shader.component_name_of(name, component as usize);
    named.unwrap_or_else(|| match component {
        0 => String::new(),
        more => format!(" (word {more})"),
    })
}

fn operator_sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add | Operator::FloatAdd => " + ",
        Operator::Mul | Operator::FloatMul => " * ",
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => " min ",
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => " max ",
        Operator::And => " & ",
        Operator::Or => " | ",
        Operator::Xor => " ^ ",
    }
}
