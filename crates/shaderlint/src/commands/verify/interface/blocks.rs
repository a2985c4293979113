//! Members of constant buffers: their blocks and offsets.

use shaderlint_hlsl::{Global, Shader, Span, Storage, Type};

/// A `cbuffer` or `tbuffer`.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    shader: &'a Shader,
    /// The text from its attributes up to its brace.
    pub head: Span,
}

impl<'a> Block<'a> {
    /// The block that contains a member, if any.
    pub fn of(shader: &'a Shader, member: &Global) -> Option<Block<'a>> {
        let text = shader.text.get(..member.span.start as usize)?;
        let mut depth = 0u32;
        let brace = text.iter().rposition(|byte| match byte {
            b'}' => {
                depth += 1;
                false
            }
            b'{' if depth > 0 => {
                depth -= 1;
                false
            }
            byte => *byte == b'{',
        })?;
        let before = text.get(..brace)?;
        let start = (before.iter())
            .rposition(|byte| matches!(byte, b';' | b'{' | b'}'))
            .map_or(0, |end| end + 1);
        let head = Span {
            start: u32::try_from(start).ok()?,
            end: u32::try_from(brace).ok()?,
        };
        let block = Block { shader, head };
        block.kind().map(|_| block)
    }

    /// `cbuffer` or `tbuffer`, and its name.
    pub fn kind(&self) -> Option<(String, String)> {
        let text = String::from_utf8_lossy(self.head.slice(&self.shader.text)).into_owned();
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let kind = words.find(|word| matches!(*word, "cbuffer" | "tbuffer"))?;
        let name = words.find(|word| !word.is_empty()).unwrap_or_default();
        Some((kind.to_owned(), name.to_owned()))
    }

    /// The members of the block up to this one, including it.
    pub fn up_to(&self, member: &Global) -> Vec<&'a Global> {
        let places = self.head.end..=member.name_span.start;
        let members = self.shader.globals.iter();
        members
            .filter(|global| global.storage == Storage::Uniform && places.contains(&global.name_span.start))
            .collect()
    }
}

/// The members outside of any block: compilers collect them in one constant buffer.
pub(super) fn without_block(shader: &Shader) -> Vec<&Global> {
    let members = shader.globals.iter();
    members
        .filter(|global| global.storage == Storage::Uniform && Block::of(shader, global).is_none())
        .collect()
}

/// Whether one of these has a `packoffset`.
pub(super) fn are_placed(shader: &Shader, members: &[&Global]) -> bool {
    members.iter().any(|member| is_placed(shader, member))
}

/// The byte offset of the last of these members. A member without a `packoffset` follows its predecessor directly,
/// except that no vector crosses a 16-byte register, and that arrays and matrices begin one (learn.microsoft.com,
/// *Packing Rules for Constant Variables*). `None` if the order of a matrix or the target's compiler decides the
/// offset.
pub(super) fn offset(shader: &Shader, members: &[&Global]) -> Option<u32> {
    let (mut start, mut end) = (None, Some(0u32));
    for member in members {
        start = if is_placed(shader, member) {
            packoffset(shader, member)
        } else {
            end.and_then(|end| following(end, &member.ty))
        };
        end = start.and_then(|start| start.checked_add(size(&member.ty)?));
    }
    start
}

fn following(end: u32, ty: &Type) -> Option<u32> {
    let size = size(ty)?;
    if end % 16 + size > 16 {
        end.checked_next_multiple_of(16)
    } else {
        Some(end)
    }
}

/// The size of a type in bytes, if it is the same under every matrix order and every compiler.
fn size(ty: &Type) -> Option<u32> {
    match ty {
        Type::Scalar(scalar) if scalar.is_word() => Some(4),
        Type::Vector(scalar, count) if scalar.is_word() => Some(4 * u32::from(*count)),
        Type::Matrix(scalar, 4, 4) if scalar.is_word() => Some(64),
        Type::Array(element, length) if *length > 0 => {
            let size = size(element)?;
            size.is_multiple_of(16)
                .then(|| size.checked_mul(*length))
                .flatten()
        }
        _ => None,
    }
}

fn is_placed(shader: &Shader, member: &Global) -> bool {
    super::declarator(shader, member).contains("packoffset(")
}

/// The byte offset of a member's `packoffset`.
fn packoffset(shader: &Shader, member: &Global) -> Option<u32> {
    let text = super::declarator(shader, member);
    let (_, given) = text.split_once("packoffset(")?;
    let (given, _) = given.split_once(')')?;
    let (register, component) = given.split_once('.').unwrap_or((given, "x"));
    let number: u32 = register.strip_prefix(['c', 'C'])?.parse().ok()?;
    let component = ["x", "y", "z", "w"].iter().position(|name| *name == component)?;
    number.checked_mul(16)?.checked_add(4 * component as u32)
}
