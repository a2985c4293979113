#define PASTE(a, b) a##b
#define TEXT(...) #__VA_ARGS__
#define COUNT(x) PASTE(SIZE_, x)
#define SIZE_1 64
#include "1"
#if defined(SIZE_1) && COUNT(1) > 32 || !defined QUX
groupshared uint g[COUNT(1)];
#elif 1 ? 0 : 'a'
#error no
#else
#undef SIZE_1
#endif
#line 7 "other.hlsl"
[numthreads(COUNT(1), 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    LOAD(g, gi)
    // a comment \
    that goes on
    Out[gi] = __LINE__;
}
//-- 1
#pragma once
#ifndef GUARD
#define GUARD
RWStructuredBuffer<uint> Out;
#include <2>
#endif
//-- 2
#pragma kernel main SIZE=64
#define LOAD(a, i) a[i] = i; GroupMemoryBarrierWithGroupSync();
#include "0"
