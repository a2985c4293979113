//! Where the elements of a scan or a reduction are, as HLSL spells it.

use shaderlint_hlsl::{GlobalId, Scalar, Shader, Type};
use shaderlint_simt::{Collective, Elements};

use crate::source::words::words;

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
