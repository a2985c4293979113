//! The elements of a scan or a reduction, as a reader would write them.

use std::fmt::Write;

use shaderlint_hlsl::{FunctionId, Global, GlobalId, LocalId, ResourceKind, Shader, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, Extent};

/// Element `index` of a collective; with an empty index, the value that all threads hold.
pub(crate) fn text(context: &Context<'_>, of: &Collective, elements: &Elements, index: &str) -> String {
    let shader = context.shader;
    let local = |local: LocalId, component: Option<u8>| variable(context, of.function, local, component);
    match elements {
        Elements::Array {
            global,
            offset,
            component,
            axis,
        } => {
            let Some(array) = context.global(*global) else {
                return "?".to_owned();
            };
            if let Some(extent) = extent(of, *global) {
                return in_resource(shader, array, extent, *offset, index, *component);
            }
            let (lengths, element) = dimensions(&array.ty);
            let indices = indices(&lengths, *axis, *offset, of.count, index);
            format!("{}{indices}{}", array.name, part(shader, element, *component))
        }
        Elements::Cell {
            global,
            index,
            component,
            axis,
        } => {
            let Some(array) = context.global(*global) else {
                return "?".to_owned();
            };
            if let Some(extent) = extent(of, *global) {
                return in_resource(shader, array, extent, *index, "0", *component);
            }
            let (lengths, element) = dimensions(&array.ty);
            let indices = indices(&lengths, *axis, *index, 1, "0");
            format!("{}{indices}{}", array.name, part(shader, element, *component))
        }
        Elements::Spread { global, .. } => {
            let name = context.global(*global).map_or("?", |global| &global.name);
            format!("element {index} of {name}")
        }
        Elements::Register { local: id, component } if index.is_empty() => local(*id, *component),
        Elements::Register { local: id, component } => {
            format!("thread {index}'s `{}`", local(*id, *component))
        }
        Elements::OneRegister {
            local: id,
            component,
            thread,
        } => format!("thread {thread}'s `{}`", local(*id, *component)),
        Elements::Expression {
            span,
            component,
            thread,
        } => {
            let text = String::from_utf8_lossy(span.slice(&shader.text));
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let letter = component.and_then(|component| [".x", ".y", ".z", ".w"].get(usize::from(component)));
            match letter {
                Some(letter) => format!("thread {thread}'s `({text}){letter}`"),
                None => format!("thread {thread}'s `{text}`"),
            }
        }
    }
}

/// The variable that holds one element for each lane.
pub(crate) fn register(context: &Context<'_>, function: FunctionId, elements: &Elements) -> String {
    match elements {
        Elements::Register { local, component } => variable(context, function, *local, *component),
        _ => "?".to_owned(),
    }
}

fn variable(context: &Context<'_>, function: FunctionId, local: LocalId, component: Option<u8>) -> String {
    let function = context.function(function);
    let local = function.and_then(|function| function.locals.get(local.0 as usize));
    local.map_or("?".to_owned(), |local| {
        format!("{}{}", local.name, part(context.shader, &local.ty, component))
    })
}

/// Where a collective's elements begin in a resource, if the global is one.
fn extent(of: &Collective, global: GlobalId) -> Option<&Extent> {
    of.tiles.iter().find(|extent| extent.resource == global)
}

/// Element `index` of a group's part of a resource, counted from `offset`.
fn in_resource(
    shader: &Shader,
    resource: &Global,
    extent: &Extent,
    offset: u32,
    index: &str,
    component: Option<u8>,
) -> String {
    let index = &*counted_from(offset, index);
    let scaled = match (extent.stride, index.parse::<u32>()) {
        (1, _) => index.to_owned(),
        (stride, Ok(index)) => (stride * index).to_string(),
        (stride, Err(_)) if index.chars().all(char::is_alphanumeric) => format!("{stride} * {index}"),
        (stride, Err(_)) => format!("{stride} * ({index})"),
    };
    let at = match (&*extent.start, &*scaled) {
        ("", _) => scaled,
        (start, "0") => start.to_owned(),
        (start, _) => format!("{start} + {scaled}"),
    };
    let name = &resource.name;
    match &resource.ty {
        Type::Resource(ResourceKind::RwByteAddressBuffer, _) => format!("{name}.Load({at})"),
        Type::Resource(_, Some(element)) => format!("{name}[{at}]{}", part(shader, element, component)),
        _ => format!("{name}[{at}]"),
    }
}

/// The lengths of an array's dimensions, outermost first, and the type of its elements.
fn dimensions(ty: &Type) -> (Vec<u32>, &Type) {
    let mut lengths = Vec::new();
    let mut element = ty;
    while let Type::Array(inner, length) = element {
        lengths.push(*length);
        element = inner;
    }
    (lengths, element)
}

/// An index, counted from `offset`.
fn counted_from(offset: u32, index: &str) -> String {
    match (offset, index.parse::<u32>()) {
        (0, Err(_)) => index.to_owned(),
        (offset, Err(_)) => format!("{index} + {offset}"),
        (offset, Ok(number)) => (offset + number).to_string(),
    }
}

/// The indices of element `index`, counted from `offset` along the `axis`th dimension from the innermost, then along
/// the other dimensions. The construct has `count` elements.
fn indices(lengths: &[u32], axis: u8, offset: u32, count: u32, index: &str) -> String {
    let along = lengths.len().saturating_sub(1 + usize::from(axis));
    let row = lengths.get(along).copied().unwrap_or(1).max(1);
    let number = index.parse::<u32>().ok();
    let is_in_one_row = count <= row;
    let first = if is_in_one_row { offset % row } else { offset };
    let at = counted_from(first, index);
    let number = number.map(|number| first + number);
    // The distance in elements between neighbours along each other dimension, from the innermost outwards.
    let mut apart = row;
    let mut rest = offset / row;
    let mut written = Vec::new();
    for (dimension, length) in lengths.iter().enumerate().rev() {
        let length = (*length).max(1);
        let is_along = dimension == along;
        let between = if is_along { 1 } else { apart };
        written.push(match (is_in_one_row, number) {
            (true, _) if is_along => at.clone(),
            (true, _) => (rest % length).to_string(),
            (false, Some(number)) => (number / between % length).to_string(),
            (false, None) if is_along => format!("({at}) % {row}"),
            (false, None) => format!("({at}) / {between} % {length}"),
        });
        if !is_along {
            rest /= length;
            apart = apart.saturating_mul(length);
        }
    }
    written.iter().rev().fold(String::new(), |mut text, index| {
        let _ = write!(text, "[{index}]");
        text
    })
}

/// The selector of a component, as in `.x` or `[1]`.
fn part(shader: &Shader, ty: &Type, component: Option<u8>) -> String {
    let Some(component) = component else {
        return String::new();
    };
    let mut component = usize::from(component);
    match ty {
        Type::Vector(..) => {
            let letter = [".x", ".y", ".z", ".w"].get(component);
            letter.copied().unwrap_or_default().to_owned()
        }
        Type::Matrix(_, _, columns) => {
            let columns = usize::from(*columns).max(1);
            format!("[{}][{}]", component / columns, component % columns)
        }
        Type::Array(element, _) => {
            let width = shader.components(element).max(1);
            let rest = part(shader, element, u8::try_from(component % width).ok());
            format!("[{}]{rest}", component / width)
        }
        Type::Struct(id) => {
            let fields = shader.structs.get(id.0 as usize).map_or(&[][..], |s| &s.fields);
            for field in fields {
                let width = shader.components(&field.ty);
                if component < width {
                    let rest = part(shader, &field.ty, u8::try_from(component).ok());
                    return field.selector() + &rest;
                }
                component -= width;
            }
            String::new()
        }
        _ => String::new(),
    }
}
