//! How forms write an operator.

use shaderlint_hlsl::Scalar;
use shaderlint_simt::Operator;

/// The names for an operator in a form.
pub(crate) struct Names {
    pub what: &'static str,
    /// As in the name of a function.
    pub word: &'static str,
    pub wave: &'static str,
    pub atomic: Option<&'static str>,
}

/// The word for a variable that holds a combination.
pub(crate) fn result_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Add | Operator::FloatAdd => "sum",
        Operator::Mul | Operator::FloatMul => "product",
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => "minimum",
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => "maximum",
        Operator::And | Operator::Or | Operator::Xor => "bits",
    }
}

/// A combination of values, as in "the sum of the values".
pub(crate) fn in_words(operator: Operator) -> &'static str {
    match operator {
        Operator::And => "bitwise and",
        Operator::Or => "bitwise or",
        Operator::Xor => "bitwise exclusive or",
        _ => result_name(operator),
    }
}

/// The intrinsic for the combination of the lanes before a lane.
pub(crate) fn prefix(operator: Operator) -> Option<&'static str> {
    match operator {
        Operator::Add | Operator::FloatAdd => Some("WavePrefixSum"),
        Operator::Mul | Operator::FloatMul => Some("WavePrefixProduct"),
        _ => None,
    }
}

pub(crate) fn names(operator: Operator) -> Names {
    let (what, word, wave, atomic) = match operator {
        Operator::Add => ("Sum", "Sum", "WaveActiveSum", Some("InterlockedAdd")),
        Operator::FloatAdd => ("Sum", "Sum", "WaveActiveSum", None),
        Operator::Mul | Operator::FloatMul => ("Product", "Product", "WaveActiveProduct", None),
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => {
            ("Minimum", "Min", "WaveActiveMin", Some("InterlockedMin"))
        }
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => {
            ("Maximum", "Max", "WaveActiveMax", Some("InterlockedMax"))
        }
        Operator::And => ("And", "And", "WaveActiveBitAnd", Some("InterlockedAnd")),
        Operator::Or => ("Or", "Or", "WaveActiveBitOr", Some("InterlockedOr")),
        Operator::Xor => ("Xor", "Xor", "WaveActiveBitXor", Some("InterlockedXor")),
    };
    Names {
        what,
        word,
        wave,
        atomic,
    }
}

/// The statement that combines a variable with a value.
pub(crate) fn accumulated(operator: Operator, variable: &str, value: &str) -> String {
    match operator {
        Operator::Add | Operator::FloatAdd => format!("{variable} += {value}"),
        Operator::Mul | Operator::FloatMul => format!("{variable} *= {value}"),
        Operator::And => format!("{variable} &= {value}"),
        Operator::Or => format!("{variable} |= {value}"),
        Operator::Xor => format!("{variable} ^= {value}"),
        _ => format!("{variable} = {}", combined(operator, variable, value)),
    }
}

pub(crate) fn combined(operator: Operator, a: &str, b: &str) -> String {
    match operator {
        Operator::Add | Operator::FloatAdd => format!("{a} + {b}"),
        Operator::Mul | Operator::FloatMul => format!("{a} * {b}"),
        Operator::And => format!("{a} & {b}"),
        Operator::Or => format!("{a} | {b}"),
        Operator::Xor => format!("{a} ^ {b}"),
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => format!("min({a}, {b})"),
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => format!("max({a}, {b})"),
    }
}

/// The combination of the lanes of a wave, of one value each.
pub(crate) fn of_wave(operator: Operator, element: Scalar, ty: &str, value: &str) -> String {
    let wave = names(operator).wave;
    match (operator, element) {
        // These take unsigned operands.
        (Operator::And | Operator::Or | Operator::Xor, Scalar::Int) => {
            format!("{ty}({wave}(u{ty}({value})))")
        }
        _ => format!("{wave}({value})"),
    }
}
