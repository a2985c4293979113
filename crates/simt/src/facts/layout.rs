//! How the cells of a variable form rows of elements.
//!
//! An array of scalars is one row. An array of vectors or structs is one row for each scalar component. The elements
//! of an array of arrays are counted along one of its axes first, so that values computed along that axis are
//! adjacent. The caller chooses the axis.

use shaderlint_hlsl::{Scalar, Shader, Type};

/// The largest number of components that are followed one by one in a variable.
pub(crate) const MAX_COMPONENTS: usize = 4096;

/// The largest number of components of an element: an element of a scan has no more.
pub(crate) const MAX_WIDTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The scalar types of an element's components, in the order of its cells.
    pub scalars: Vec<Scalar>,
    /// Lengths of the array's dimensions, the outermost first; empty for a variable that is no array.
    lengths: Vec<usize>,
    /// The dimension along which elements are counted first; 0 is the innermost.
    pub axis: u8,
}

impl Layout {
    /// `None` if a component is not a scalar, or there are too many. If there are fewer dimensions than `axis` asks
    /// for, the outermost is used.
    pub fn of(shader: &Shader, ty: &Type, axis: u8) -> Option<Layout> {
        let mut lengths = Vec::new();
        let mut element = ty;
        while let Type::Array(inner, length) = element {
            lengths.push(*length as usize);
            element = inner;
        }
        let scalars = scalars(shader, element)?;
        let axis = usize::from(axis).min(lengths.len().saturating_sub(1)) as u8;
        Some(Layout {
            scalars,
            lengths,
            axis,
        })
    }

    /// The number of components of an element.
    pub fn width(&self) -> usize {
        self.scalars.len()
    }

    /// The number of dimensions that elements may be counted along.
    pub fn axes(&self) -> u8 {
        self.lengths.len().min(4) as u8
    }

    /// The number of elements along the axis.
    pub fn row_length(&self) -> usize {
        let axis = self.lengths.len().checked_sub(1 + usize::from(self.axis));
        axis.and_then(|axis| self.lengths.get(axis)).copied().unwrap_or(1)
    }

    /// Component, element and cell of each of the first `count` cells: component by component, elements in their
    /// order.
    pub fn cells(&self, count: usize) -> impl Iterator<Item = (usize, u32, usize)> + '_ {
        let elements = (count / self.width().max(1)) as u32;
        (0..self.width()).flat_map(move |component| {
            (0..elements).map(move |rank| (component, rank, self.cell(rank as usize, component)))
        })
    }

    /// The cell of a component of the element with number `rank`.
    pub fn cell(&self, rank: usize, component: usize) -> usize {
        let inner: usize = self.lengths.iter().rev().take(usize::from(self.axis)).product();
        if inner <= 1 {
            return rank * self.width() + component;
        }
        let length = self.row_length().max(1);
        let (row, along) = (rank / length, rank % length);
        let element = (row / inner * length + along) * inner + row % inner;
        element * self.width() + component
    }
}

/// Whether a byte-address buffer holds a value of this type as consecutive 32-bit words, in the order of its
/// components. Other types have padding between components, have narrower or wider ones, or are stored column by
/// column.
pub(crate) fn is_of_words(shader: &Shader, ty: &Type) -> bool {
    match ty {
        Type::Scalar(scalar) | Type::Vector(scalar, _) => scalar.is_word(),
        Type::Array(element, _) => is_of_words(shader, element),
        Type::Struct(id) => {
            let declared = shader.structs.get(id.0 as usize);
            declared.is_some_and(|of| of.fields.iter().all(|field| is_of_words(shader, &field.ty)))
        }
        Type::Matrix(..) | Type::Void | Type::Resource(..) | Type::Unknown => false,
    }
}

/// The scalar types of a value's components; `None` if one is not a scalar, or there are too many.
pub(crate) fn scalars(shader: &Shader, ty: &Type) -> Option<Vec<Scalar>> {
    let mut scalars = Vec::new();
    add_scalars(shader, ty, &mut scalars)?;
    Some(scalars)
}

fn add_scalars(shader: &Shader, ty: &Type, scalars: &mut Vec<Scalar>) -> Option<()> {
    let (scalar, count) = match ty {
        Type::Scalar(scalar) => (*scalar, 1),
        Type::Vector(scalar, count) => (*scalar, usize::from(*count)),
        Type::Matrix(scalar, rows, columns) => (*scalar, usize::from(*rows) * usize::from(*columns)),
        Type::Array(element, length) => {
            for _ in 0..*length {
                let before = scalars.len();
                add_scalars(shader, element, scalars)?;
                if scalars.len() == before {
                    break;
                }
            }
            return Some(());
        }
        Type::Struct(id) => {
            for field in &shader.structs.get(id.0 as usize)?.fields {
                add_scalars(shader, &field.ty, scalars)?;
            }
            return Some(());
        }
        Type::Void | Type::Resource(..) | Type::Unknown => return None,
    };
    scalars.resize(scalars.len() + count, scalar);
    (scalars.len() <= MAX_WIDTH).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_counts_each_cell_once() {
        for axis in 0..3 {
            let layout = Layout {
                scalars: vec![Scalar::Uint; 2],
                lengths: vec![3, 4, 5],
                axis,
            };
            let mut cells: Vec<usize> = (0..60)
                .flat_map(|rank| [layout.cell(rank, 0), layout.cell(rank, 1)])
                .collect();
            // The second element along an axis is one step of that axis away.
            assert_eq!(cells[2], 2 * [1, 5, 20][usize::from(axis)]);
            assert_eq!(layout.row_length(), [5, 4, 3][usize::from(axis)]);
            cells.sort_unstable();
            assert_eq!(cells, (0..120).collect::<Vec<usize>>());
        }
    }
}
