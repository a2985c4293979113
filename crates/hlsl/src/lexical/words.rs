//! Words with a meaning in the lexical pass.

/// Names that a `<` follows as a template list.
pub(super) fn is_template_type(word: &[u8]) -> bool {
    word.starts_with(b"Texture")
        || word.starts_with(b"RWTexture")
        || word.starts_with(b"RasterizerOrdered")
        || word.starts_with(b"FeedbackTexture")
        || word.ends_with(b"InputRecord")
        || word.ends_with(b"InputRecords")
        || word.ends_with(b"OutputRecords")
        || word.starts_with(b"NodeOutput")
        || matches!(
            word,
            b"StructuredBuffer"
                | b"RWStructuredBuffer"
                | b"AppendStructuredBuffer"
                | b"ConsumeStructuredBuffer"
                | b"Buffer"
                | b"RWBuffer"
                | b"ConstantBuffer"
                | b"TextureBuffer"
                | b"InputPatch"
                | b"OutputPatch"
                | b"PointStream"
                | b"LineStream"
                | b"TriangleStream"
                | b"RayQuery"
                | b"SubpassInput"
                | b"vector"
                | b"matrix"
        )
}

/// Keywords of the grammar that are ordinary names in HLSL.
pub(super) fn is_foreign_keyword(word: &[u8]) -> bool {
    matches!(
        word,
        b"NULL"
            | b"alignas"
            | b"alignof"
            | b"and"
            | b"and_eq"
            | b"asm"
            | b"auto"
            | b"bitand"
            | b"bitor"
            | b"catch"
            | b"centroid"
            | b"char"
            | b"co_await"
            | b"co_return"
            | b"co_yield"
            | b"column_major"
            | b"compl"
            | b"concept"
            | b"consteval"
            | b"constexpr"
            | b"constinit"
            | b"decltype"
            | b"defined"
            | b"delete"
            | b"explicit"
            | b"export"
            | b"extern"
            | b"final"
            | b"friend"
            | b"goto"
            | b"import"
            | b"line"
            | b"lineadj"
            | b"linear"
            | b"long"
            | b"module"
            | b"mutable"
            | b"new"
            | b"noexcept"
            | b"noreturn"
            | b"not"
            | b"not_eq"
            | b"nullptr"
            | b"offsetof"
            | b"or"
            | b"or_eq"
            | b"override"
            | b"point"
            | b"private"
            | b"protected"
            | b"public"
            | b"register"
            | b"requires"
            | b"restrict"
            | b"sample"
            | b"shared"
            | b"short"
            | b"signed"
            | b"snorm"
            | b"static_assert"
            | b"thread_local"
            | b"throw"
            | b"triangle"
            | b"triangleadj"
            | b"try"
            | b"typename"
            | b"union"
            | b"unorm"
            | b"virtual"
            | b"volatile"
            | b"xor"
            | b"xor_eq"
            | b"cbuffer"
            | b"size_t"
            | b"int8_t4_packed"
            | b"uint8_t4_packed"
            | b"max_align_t"
            | b"ptrdiff_t"
            | b"L"
            | b"R"
            | b"LR"
            | b"U"
            | b"u"
            | b"u8"
            | b"UR"
            | b"uR"
    )
}

/// Modifiers of a declaration without an effect in this front end. They count only before another word.
pub(super) fn is_modifier(word: &[u8]) -> bool {
    matches!(
        word,
        b"precise"
            | b"globallycoherent"
            | b"reordercoherent"
            | b"nointerpolation"
            | b"noperspective"
            | b"centroid"
            | b"linear"
            | b"sample"
            | b"row_major"
            | b"column_major"
            | b"uniform"
            | b"snorm"
            | b"unorm"
            | b"extern"
            | b"volatile"
            | b"shared"
            | b"inline"
            | b"export"
            | b"groupshared"
            | b"rootconstant"
            | b"option"
            | b"in"
            | b"out"
            | b"inout"
            | b"point"
            | b"line"
            | b"lineadj"
            | b"triangle"
            | b"triangleadj"
            | b"constexpr"
            | b"nodegradation"
            | b"vertices"
            | b"indices"
            | b"primitives"
            | b"payload"
    )
}

/// Attributes that may stand before a statement.
pub(super) fn is_statement_attribute(word: &[u8]) -> bool {
    [
        &b"unroll"[..],
        b"loop",
        b"branch",
        b"flatten",
        b"fastopt",
        b"allow_uav_condition",
        b"call",
        b"forcecase",
    ]
    .iter()
    .any(|name| word.eq_ignore_ascii_case(name))
}

/// Prefixes of the names of vendor attributes, as in `[[vk::binding(0)]]`.
pub(super) fn is_vendor(word: &[u8]) -> bool {
    matches!(word, b"vk" | b"spv" | b"glsl" | b"nv" | b"dx")
}

/// Vendor attributes that DXC and Slang know.
pub(super) fn is_attribute_of_vendor(word: &[u8]) -> bool {
    word.starts_with(b"ext_")
        || matches!(
            word,
            b"aliased_pointer"
                | b"binding"
                | b"builtin"
                | b"combinedImageSampler"
                | b"constant_id"
                | b"counter_binding"
                | b"depth_unchanged"
                | b"early_and_late_tests"
                | b"image_format"
                | b"index"
                | b"input_attachment_index"
                | b"location"
                | b"offset"
                | b"post_depth_coverage"
                | b"push_constant"
                | b"shader_record_ext"
                | b"shader_record_nv"
                | b"specialization_constant"
                | b"stencil_ref_greater_equal_back"
                | b"stencil_ref_greater_equal_front"
                | b"stencil_ref_less_equal_back"
                | b"stencil_ref_less_equal_front"
                | b"stencil_ref_unchanged_back"
                | b"stencil_ref_unchanged_front"
        )
}

/// All other attributes that DXC and Slang know.
pub(super) fn is_attribute(word: &[u8]) -> bool {
    const OTHERS: [&[u8]; 36] = [
        b"numthreads",
        b"WaveSize",
        b"shader",
        b"RootSignature",
        b"outputtopology",
        b"maxvertexcount",
        b"instance",
        b"domain",
        b"partitioning",
        b"outputcontrolpoints",
        b"patchconstantfunc",
        b"maxtessfactor",
        b"earlydepthstencil",
        b"clipplanes",
        b"noinline",
        b"raypayload",
        b"NodeLaunch",
        b"NodeIsProgramEntry",
        b"NodeID",
        b"NodeLocalRootArgumentsTableIndex",
        b"NodeShareInputOf",
        b"NodeDispatchGrid",
        b"NodeMaxDispatchGrid",
        b"NodeMaxRecursionDepth",
        b"NodeMaxInputRecordsPerGraphEntryRecord",
        b"NodeTrackRWInputSharing",
        b"MaxRecords",
        b"MaxRecordsSharedWith",
        b"NodeArraySize",
        b"AllowSparseNodes",
        b"UnboundedSparseNodes",
        b"ForceInline",
        b"ForceUnroll",
        b"mutating",
        b"nonmutating",
        b"Differentiable",
    ];
    is_statement_attribute(word) || OTHERS.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Keywords that start a statement with possible attributes.
pub(super) fn is_attributed_keyword(word: &[u8]) -> bool {
    matches!(word, b"for" | b"while" | b"do" | b"if" | b"switch")
}

/// Keywords that are not names at the start of an expression or a declaration.
pub(super) fn is_keyword(word: &[u8]) -> bool {
    is_attributed_keyword(word)
        || matches!(
            word,
            b"else"
                | b"return"
                | b"break"
                | b"continue"
                | b"discard"
                | b"case"
                | b"default"
                | b"sizeof"
                | b"struct"
                | b"class"
                | b"enum"
                | b"typedef"
                | b"using"
                | b"const"
                | b"static"
                | b"template"
                | b"operator"
                | b"namespace"
        )
}

/// Whether only a macro has such a name: at least three capitals, digits and underscores.
pub(crate) fn is_macro_like(word: &[u8]) -> bool {
    word.len() >= 3
        && word
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
        && word.first().is_some_and(|byte| !byte.is_ascii_digit())
}

/// Whether this is a sampler type, whose declaration may have a block of settings.
pub(crate) fn is_sampler(word: &[u8]) -> bool {
    matches!(
        word,
        b"SamplerState" | b"SamplerComparisonState" | b"Sampler" | b"sampler" | b"sampler2D"
    )
}

/// Whether a macro opens or closes a constant buffer, judging by its name, for example Unity's `CBUFFER_START` and
/// `CBUFFER_END`. Such a macro is not part of the following declaration. `None` for any other name.
pub(crate) fn bracket_of_buffer(word: &[u8]) -> Option<bool> {
    if !word.windows(6).any(|part| part == b"BUFFER") {
        return None;
    }
    let opens = word.ends_with(b"_START") || word.ends_with(b"_BEGIN");
    (opens || word.ends_with(b"_END")).then_some(opens)
}

/// Whether a declaration may contain this word as one of the language's own: a type with a type argument, a modifier,
/// a keyword.
pub(crate) fn is_language_word(word: &[u8]) -> bool {
    // C++ allows these as prefixes of a string. HLSL does not.
    let is_prefix = matches!(word, b"L" | b"R" | b"LR" | b"U" | b"u" | b"u8" | b"UR" | b"uR");
    is_template_type(word)
        || is_foreign_keyword(word) && !is_prefix
        || is_modifier(word)
        || is_keyword(word)
        || is_sampler(word)
        || word.starts_with(b"texture")
        || word.starts_with(b"sampler")
        || matches!(
            word,
            b"vk"
                | b"RayDesc"
                | b"BuiltInTriangleIntersectionAttributes"
                | b"tbuffer"
                | b"interface"
                | b"string"
                | b"true"
                | b"false"
        )
}
