//! How the elements of a scan or a reduction are spelled.

use std::fmt::Write;

use shaderlint_hlsl::{FunctionId, Global, GlobalId, LocalId, ResourceKind, Scalar, Shader, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, Extent};

use crate::source::words::words;

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
            format!("thread {index}'s {}", local(*id, *component))
        }
        Elements::OneRegister {
            local: id,
            component,
            thread,
        } => format!("thread {thread}'s {}", local(*id, *component)),
        Elements::Expression {
            span,
            component,
            thread,
        } => {
            let text = String::from_utf8_lossy(span.slice(&shader.text));
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let letter = component.and_then(|component| [".x", ".y", ".z", ".w"].get(usize::from(component)));
            match letter {
                Some(letter) => format!("`({text}){letter}` of thread {thread}"),
                None => format!("`{text}` of thread {thread}"),
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
    of.windows.iter().find(|extent| extent.resource == global)
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
    let index = &indices(&[u32::MAX], 0, offset, 1, index);
    let index = index.trim_start_matches('[').trim_end_matches(']');
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

/// The indices of element `index`, counted from `offset` along the `axis`th dimension from the innermost, then along
/// the other dimensions. The construct has `count` elements.
fn indices(lengths: &[u32], axis: u8, offset: u32, count: u32, index: &str) -> String {
    let along = lengths.len().saturating_sub(1 + usize::from(axis));
    let row = lengths.get(along).copied().unwrap_or(1).max(1);
    let number = index.parse::<u32>().ok();
    let is_in_one_row = count <= row;
    let first = if is_in_one_row { offset % row } else { offset };
    let at = match (first, number) {
        (0, None) => index.to_owned(),
        (first, None) => format!("{index} + {first}"),
        (first, Some(number)) => (first + number).to_string(),
    };
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

/// A scalar or a vector inside a value.
pub(crate) struct Part {
    pub scalar: Scalar,
    /// `None` for a scalar.
    pub width: Option<u8>,
    /// The number of its first component.
    pub first: usize,
    /// The selector behind the value.
    pub name: String,
}

/// The scalar or vector that holds a component of a scalar, a vector or a struct; components are numbered through.
pub(crate) fn part_of(shader: &Shader, ty: &Type, component: usize) -> Option<Part> {
    let (scalar, width) = match ty {
        Type::Scalar(scalar) => (*scalar, None),
        Type::Vector(scalar, width) => (*scalar, Some(*width)),
        Type::Struct(id) => {
            let mut before = 0;
            let fields = &shader.structs.get(id.0 as usize)?.fields;
            let field = fields.iter().find(|field| {
                before += shader.components(&field.ty);
                component < before
            })?;
            let first = before - shader.components(&field.ty);
            let part = part_of(shader, &field.ty, component - first)?;
            return Some(Part {
                first: first + part.first,
                name: field.selector() + &part.name,
                ..part
            });
        }
        _ => return None,
    };
    (component < usize::from(width.unwrap_or(1))).then_some(Part {
        scalar,
        width,
        first: 0,
        name: String::new(),
    })
}

/// The type of a component, and its selector.
pub(crate) fn scalar_part(shader: &Shader, ty: &Type, component: usize) -> Option<(Scalar, String)> {
    let part = part_of(shader, ty, component)?;
    let letter = match part.width {
        None => "",
        Some(_) => [".x", ".y", ".z", ".w"].get(component - part.first)?,
    };
    Some((part.scalar, part.name + letter))
}

/// What the file calls the collective's element type; `None` for a type that no form is written for. The names for
/// 16-bit floats differ in what else they may hold, so the name is the one of the arrays that the elements pass
/// through.
pub(crate) fn element_name(shader: &Shader, of: &Collective) -> Option<String> {
    match of.element {
        Scalar::Uint | Scalar::Int | Scalar::Float => return Some(of.element_name()),
        Scalar::Half => {}
        _ => return None,
    }
    let width = of.vector.map(|width| width.to_string()).unwrap_or_default();
    let written = |array: &GlobalId| {
        let array = shader.globals.get(array.0 as usize)?;
        let before = shader
            .text
            .get(array.span.start as usize..array.name_span.start as usize)?;
        let name = words(before).last()?;
        let scalar = name.strip_suffix(width.as_bytes())?;
        let is_plain = matches!(scalar, b"half" | b"min16float" | b"float16_t");
        is_plain.then_some(name)
    };
    let mut names = of.arrays.iter().map(written);
    let name = names.next()??;
    let is_one = names.all(|other| other == Some(name));
    is_one.then(|| String::from_utf8_lossy(name).into_owned())
}

/// The name of an array of single elements of the collective's type.
pub(crate) fn array_of_elements<'a>(shader: &'a Shader, of: &Collective, array: GlobalId) -> Option<&'a str> {
    let global = shader.globals.get(array.0 as usize)?;
    let Type::Array(element, _) = &global.ty else {
        return None;
    };
    (**element == of.element_type()).then_some(&global.name)
}

/// Where the elements of a scan are: in an array, or in a row or column of an array of arrays.
pub(crate) struct Row {
    /// The text before an element's index, and the text behind it.
    pub before: String,
    pub behind: String,
    /// The first element's index.
    pub offset: u32,
    /// Element `i` is `i >> padding` places further on; the places between belong to no element.
    pub padding: Option<u32>,
}

pub(crate) fn row_of_elements(shader: &Shader, of: &Collective, place: &Elements) -> Option<Row> {
    if let Elements::Spread { global, shift } = *place {
        return Some(Row {
            before: array_of_elements(shader, of, global)?.to_owned(),
            behind: String::new(),
            offset: 0,
            padding: Some(shift?),
        });
    }
    let Elements::Array {
        global,
        offset,
        component: None,
        axis,
    } = *place
    else {
        return None;
    };
    if let Some(name) = array_of_elements(shader, of, global) {
        return Some(Row {
            before: name.to_owned(),
            behind: String::new(),
            offset,
            padding: None,
        });
    }
    let array = shader.globals.get(global.0 as usize)?;
    let Type::Array(row, rows) = &array.ty else {
        return None;
    };
    let Type::Array(element, columns) = &**row else {
        return None;
    };
    // Elements are counted along one dimension first, then along the other.
    let length = if axis == 0 { *columns } else { *rows };
    let (other, offset) = (offset.checked_div(length)?, offset.checked_rem(length)?);
    let is_one = **element == of.element_type() && offset.checked_add(of.count)? <= length;
    let name = &array.name;
    let (before, behind) = match axis {
        0 => (format!("{name}[{other}]"), String::new()),
        _ => (name.clone(), format!("[{other}]")),
    };
    is_one.then_some(Row {
        before,
        behind,
        offset,
        padding: None,
    })
}

/// An array of which a form uses one component of each element: its name, the type of the component and its selector.
pub(crate) fn array_of_parts(
    shader: &Shader,
    global: GlobalId,
    component: u8,
) -> Option<(&str, Scalar, String)> {
    let array = shader.globals.get(global.0 as usize)?;
    let Type::Array(element, _) = &array.ty else {
        return None;
    };
    let (scalar, part) = scalar_part(shader, element, usize::from(component))?;
    Some((&array.name, scalar, part))
}
