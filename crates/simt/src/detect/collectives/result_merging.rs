//! Merges several results of the same statements: the components of a vector, and the results of other elements
//! or operators.

use shaderlint_hlsl::{FunctionId, Scalar, Shader, Type, expressions};

use crate::finding::{Beside, Elements, Kind};
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// A result of the candidate in one place.
pub(crate) struct Pattern {
    pub kind: Kind,
    pub reversed: bool,
    pub operator: Operator,
    pub element: Scalar,
    pub first: u32,
    pub count: u32,
    pub segment: u32,
    /// For a reduction: the number of consecutive blocks of `count` elements that each have a total.
    pub blocks: u32,
    pub input: Elements,
    pub output: Elements,
    /// All its elements combined.
    pub total: Value,
}

impl Pattern {
    /// Whether both are the same result of the same elements.
    pub fn is_result_of(&self, other: &Pattern) -> bool {
        (self.kind, self.operator, self.first) == (other.kind, other.operator, other.first)
            && (self.count, self.segment, self.reversed) == (other.count, other.segment, other.reversed)
            && self.blocks == other.blocks
    }
}

/// The results that belong to the main pattern.
pub(crate) struct Several {
    /// The number of components of an element, if all of them are combined in the same way.
    pub vector: Option<u8>,
    /// Other places that hold the same result.
    pub also: Vec<Elements>,
    /// The atoms of the elements, for each component and each block: the first and the end.
    pub ranges: Vec<(u32, u32)>,
    pub beside: Vec<Beside>,
}

impl Several {
    /// All elements combined, for each component of a reduction's.
    pub fn totals(&self, main: &Pattern) -> Vec<Value> {
        let total = |&(start, end): &(u32, u32)| Value::Run {
            operator: main.operator,
            start,
            end,
        };
        match main.kind {
            Kind::Reduction => self.ranges.iter().map(total).collect(),
            _ => vec![main.total.clone()],
        }
    }

    /// Merges `others` into the results of `main`.
    pub fn of(shader: &Shader, function: FunctionId, main: &Pattern, others: &[Pattern]) -> Several {
        let components = components(shader, function, main, others);
        let also = |of: &Pattern| {
            let others = others.iter().filter(|other| other.is_result_of(of));
            others
                .map(|other| other.output.clone())
                .collect::<Vec<Elements>>()
        };
        let mut own = also(main);
        if !components.is_empty() {
            let of_components: Vec<Vec<Elements>> = components.iter().map(|of| also(of)).collect();
            for place in &mut own {
                // A place with one component of the result either has all of them or cannot be given a vector.
                let has_all = place.component() == Some(0)
                    && (1u8..)
                        .zip(&of_components)
                        .all(|(number, places)| places.contains(&place.with_component(Some(number))));
                if has_all {
                    *place = place.with_component(None);
                }
            }
        }
        let mut known: Vec<(_, u32)> = std::iter::once(main)
            .chain(components.iter().copied())
            .map(|of| (of.operator, of.first))
            .collect();
        let blocks = |first: u32| (0..main.blocks).map(move |block| first + block * main.count);
        let ranges = { known.iter() }
            .flat_map(|(_, first)| blocks(*first))
            .map(|first| (first, first + main.count))
            .collect();
        let mut beside = Vec::new();
        for other in others {
            let is_news = (other.kind, other.count) == (main.kind, main.count)
                && !known.contains(&(other.operator, other.first))
                && (is_apart(&other.output, &main.output) || is_of_others(other, main));
            if is_news {
                known.push((other.operator, other.first));
                beside.push(Beside {
                    operator: other.operator,
                    output: other.output.clone(),
                    also: also(other),
                });
            }
        }
        Several {
            vector: u8::try_from(components.len() + 1).ok().filter(|count| *count > 1),
            also: own,
            ranges,
            beside,
        }
    }
}

/// The patterns of the other components, if `main` is the first component of a vector and all components are
/// alike.
fn components<'p>(
    shader: &Shader,
    function: FunctionId,
    main: &Pattern,
    others: &'p [Pattern],
) -> Vec<&'p Pattern> {
    let width =
        |place: &Elements| vector_width(shader, function, place).filter(|_| place.component() == Some(0));
    let Some(count) = width(&main.output).filter(|count| width(&main.input) == Some(*count)) else {
        return Vec::new();
    };
    let component = |number: u8| {
        let input = main.input.with_component(Some(number));
        let output = main.output.with_component(Some(number));
        let is_made_alike = |other: &&Pattern| {
            (other.kind, other.reversed, other.operator, other.element)
                == (main.kind, main.reversed, main.operator, main.element)
                && (other.count, other.segment, other.blocks) == (main.count, main.segment, main.blocks)
                && (&other.input, &other.output) == (&input, &output)
        };
        others.iter().find(is_made_alike)
    };
    (1..count)
        .map(component)
        .collect::<Option<Vec<_>>>()
        .unwrap_or_default()
}

/// The number of components of the vectors that a place holds.
pub(crate) fn vector_width(shader: &Shader, function: FunctionId, place: &Elements) -> Option<u8> {
    let function = shader.functions.get(function.0 as usize)?;
    let mut ty = match place {
        Elements::Array { global, .. } | Elements::Cell { global, .. } => {
            &shader.globals.get(global.0 as usize)?.ty
        }
        Elements::Register { local, .. } | Elements::OneRegister { local, .. } => {
            &function.locals.get(local.0 as usize)?.ty
        }
        Elements::Expression { span, .. } => {
            let body = function.body.as_deref().unwrap_or_default();
            &expressions(body).find(|expr| expr.span == *span)?.ty
        }
        Elements::Spread { .. } => return None,
    };
    while let Type::Array(inner, _) = ty {
        ty = inner;
    }
    match ty {
        Type::Vector(_, count) => Some(*count),
        _ => None,
    }
}

/// Whether two results in one array have no element in common.
fn is_of_others(a: &Pattern, b: &Pattern) -> bool {
    a.first.abs_diff(b.first) >= a.count && (a.blocks, b.blocks) == (1, 1)
}

/// Whether two places belong to different variables or components. Two cells of one array may be the two ends
/// of a sorted array.
fn is_apart(a: &Elements, b: &Elements) -> bool {
    let home = |place: &Elements| match place {
        Elements::Array { global, .. } | Elements::Cell { global, .. } | Elements::Spread { global, .. } => {
            (Some(*global), None)
        }
        Elements::Register { local, .. } | Elements::OneRegister { local, .. } => (None, Some(*local)),
        Elements::Expression { .. } => (None, None),
    };
    (home(a), a.component()) != (home(b), b.component())
}
