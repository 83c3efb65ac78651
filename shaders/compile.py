#!/usr/bin/env python3
"""Compiles every variant of one compute shader and writes a C++ source with the modules and what they ask for, and a header with a struct
of what algorithms tell the shader.

    compile.py SHADER.comp --include FOLDER --glslc PATH --spirv-val PATH --output X.cpp [--header X_arguments.h] [--depfile X.d]

A shader declares its variants in its first lines:
    //@ axis STORAGE buffer image              defines STORAGE_buffer as 0, STORAGE_image as 1, STORAGE as one of them
    //@ skip STORAGE=image CACHE=unorm8        leaves out the variants that have all of these
    //@ checked                                asks drivers to check what it reads and writes of buffers
"""
import argparse
import itertools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
import matrices  # noqa: E402
import spirv  # noqa: E402

COMPILE = ["-fshader-stage=compute", "--target-env=vulkan1.2", "-Werror"]
# The library turns on both layouts of uniform blocks, so shaders may use them.
VALIDATE = ["--target-env", "vulkan1.2", "--uniform-buffer-standard-layout", "--scalar-block-layout"]


# What follows from a plan's images and spec: standard_numbers() of src/backends/vulkan/pipeline.cpp. Algorithms say none of it, but for
# some shaders these, which work on other sizes, have taps of their own or another border.
STANDARD = set("""group_x group_y has_layers border_x border_y source_bits source_is_float source_channels destination_bits
    destination_is_float destination_channels decodes_alpha decodes_srgb halves_overflow_only encodes_alpha encodes_srgb source_size_x
    source_size_y size_x size_y step_x step_y origin_x origin_y source_pitch destination_pitch source_stride destination_stride
    auxiliary_stride taps_x taps_y before_x before_y sample_count""".split())
SAID_BY_SOME = {"border_x", "border_y", "size", "source_size", "taps", "taps_x", "taps_y", "before", "before_x"}


class Failure(Exception):
    """Ends the build; the message is for the author of the shader."""


def parse_header(source):
    """Axes as {name: values}, skipped combinations as [{name: value}], and whether accesses are checked."""
    axes, skips, is_checked, in_header = {}, [], False, True
    for number, line in enumerate(source.splitlines(), 1):
        line = line.strip()
        if not line.startswith("//@"):
            in_header = in_header and (not line or line.startswith(("//", "#")))
            continue
        if not in_header:
            raise Failure(f"line {number}: '//@' belongs before the code")
        what, *rest = line[3:].split() or [""]
        if what == "axis" and rest:
            name, *values = rest
            if not re.fullmatch("[A-Z][A-Z0-9_]*", name) or name in axes:
                raise Failure(f"line {number}: the name of an axis is a new word in UPPER_CASE, not '{name}'")
            if not values or len(set(values)) < len(values) or not all(re.fullmatch("[a-z0-9_]+", v) for v in values):
                raise Failure(f"line {number}: axis {name} needs different values in lower_case")
            axes[name] = values
        elif what == "skip" and rest and all(part.count("=") == 1 for part in rest):
            skips.append(dict(part.split("=") for part in rest))
        elif what == "checked" and not rest:
            is_checked = True
        else:
            raise Failure(f"line {number}: expected '//@ axis NAME value...', '//@ skip NAME=value...' or '//@ checked', "
                          f"not '{line}'")
    for name, value in itertools.chain.from_iterable(skip.items() for skip in skips):
        if value not in axes.get(name, []):
            raise Failure(f"'//@ skip {name}={value}' is about no axis and value of this shader")
    return axes, skips, is_checked


def combinations(axes, skips):
    """One {name: value} for each variant, the last axis fastest; None for a skipped one."""
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values))
        yield None if any(skip.items() <= chosen.items() for skip in skips) else chosen


def macros(axes, chosen):
    for name, values in axes.items():
        for index, value in enumerate(values):
            yield f"-D{name}_{value}={index}"
        yield f"-D{name}={values.index(chosen[name])}"


def call(command):
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        raise Failure(f"{Path(command[0]).name} failed\n{done.stdout.rstrip()}")


def dependencies(depfile):
    """The files in a depfile of glslc, which does not escape spaces."""
    files, name = [], ""
    for word in depfile.read_text(encoding="utf-8").partition(": ")[2].strip().split(" "):
        name = f"{name} {word}" if name else word
        if Path(name).is_file():
            files.append(name)
            name = ""
    return files


def compile_variant(args, defines, folder):
    """The shipped words, their reflection, and the files that were read."""
    modules = []
    for level in ("-O0", "-O"):
        binary, depfile = Path(folder, "module.spv"), Path(folder, "module.d")
        call([args.glslc, *COMPILE, level, *defines, *(f"-I{path}" for path in args.include), args.shader,
              "-MD", "-MF", depfile, "-MT", "module", "-o", binary])
        call([args.spirv_val, *VALIDATE, binary])
        modules.append(spirv.Module(binary.read_bytes()))
    plain, shipped = modules
    shipped.check_group_size()
    constants = plain.constants()
    if not set(shipped.spec_ids()) <= {constant.id for constant in constants}:
        raise spirv.Refused("the optimiser added specialization constants")
    tables = {"constants": constants, "parameters": plain.parameters(), "bindings": plain.bindings(),
              "capabilities": sorted(set(shipped.capabilities))}
    words = shipped.words
    if matrices.NV_CAPABILITY in tables["capabilities"]:
        words = matrices.to_khr(words)
        tables["capabilities"] = sorted({operands[0] for op, operands in spirv.instructions(words) if op == spirv.OP_CAPABILITY})
    return words, tables, dependencies(depfile)


class Arrays:
    """C++ arrays; equal ones are written once."""

    def __init__(self):
        self.names, self.text = {}, []

    def add(self, element, entries, per_line=1):
        """The name of an array of these entries, or {} for none: C++ has no arrays of no elements."""
        if not entries:
            return "{}"
        lines = [", ".join(entries[at:at + per_line]) for at in range(0, len(entries), per_line)]
        body = ",\n    ".join(lines)
        if (element, body) not in self.names:
            self.names[element, body] = name = f"kArray{len(self.names)}"
            self.text.append(f"constexpr {element} {name}[] = {{\n    {body}}};\n")
        return self.names[element, body]


def variant_source(arrays, words, tables, is_checked):
    constants = [f'{{"{c.name}", {c.id}, ShaderType::{c.type}, 0x{c.default_bits:x}}}' for c in tables["constants"]]
    parameters = [f'{{"{p.name}", {p.offset}, ShaderType::{p.type}, {p.components}}}' for p in tables["parameters"]]
    bindings = [f'{{"{b.name}", {b.binding}, BindingKind::{b.kind}, {str(b.read_only).lower()}}}'
                for b in tables["bindings"]]
    return "{" + ", ".join([
        arrays.add("std::uint32_t", [f"0x{word:08x}" for word in words], per_line=9),
        arrays.add("ShaderConstant", constants),
        arrays.add("ShaderParameter", parameters),
        arrays.add("ShaderBinding", bindings),
        arrays.add("std::uint32_t", [str(number) for number in tables["capabilities"]], per_line=9),
        str(is_checked).lower()]) + "}"


def shader_source(path, axes, variants, is_checked):
    """The C++ source of a shader from [(words, tables) or None]."""
    arrays = Arrays()
    rows = [variant_source(arrays, *variant, is_checked) if variant else "{}" for variant in variants]
    axis_rows = [f'{{"{name.lower()}", {arrays.add("std::string_view", [f"{chr(34)}{v}{chr(34)}" for v in values])}}}'
                 for name, values in axes.items()]
    axes_name = arrays.add("ShaderAxis", axis_rows)
    variants_name = arrays.add("ShaderVariant", rows)
    name = f"kShader_{path.stem}"
    return (f"// Made from {path.name} by shaders/compile.py.\n"
            '#include "backends/vulkan/shader.h"\n\nnamespace mollify::vulkan {\nnamespace {\n\n'
            + "\n".join(arrays.text) +
            f"\n}}  // namespace\n\nextern const Shader {name};\n"
            f'constinit const Shader {name} = {{"{path.stem}", {axes_name}, {variants_name}}};\n\n'
            "}  // namespace mollify::vulkan\n")


def arguments_header(path, axes, variants):
    """A C++ struct of the axes, constants and parameters that a pass says itself. Those that all variants have and nothing else gives have
    no default, so that compilers warn where one is left out."""
    tables = [variant[1] for variant in variants if variant]
    axis_names = [name.lower() for name in axes]
    fields, uses = dict.fromkeys(axis_names, "Whole"), [set(axis_names) for _ in tables]
    for used, table in zip(uses, tables):
        for one in (*table["constants"], *table["parameters"]):
            number, count = "Real" if one.type == "float32" else "Whole", getattr(one, "components", 1)
            fields[one.name] = number if count == 1 else f"Pair<{number}>" if count == 2 else f"std::array<{number}, {count}>"
            used.add(one.name)

    has_taps = any(name in fields for name in ("taps", "taps_x"))  # else nothing says where they begin

    def is_standard(name):
        given = (name in STANDARD or name + "_x" in STANDARD) and (has_taps or not name.startswith("before"))
        return name in ("storage", "outside") or (given and name not in axis_names)

    named = sorted(name for name in fields if name in SAID_BY_SOME or not is_standard(name))
    lines = [f"  {fields[name]} {name}{'' if not is_standard(name) and all(name in used for used in uses) else '{}'};" for name in named]
    puts = [f'    put(pass, "{name}", {name});' for name in named]
    struct = "".join(word.capitalize() for word in path.stem.split("_"))
    return (f"// Made from {path.name} by shaders/compile.py: what algorithms tell it.\n#pragma once\n\n"
            '#include "algorithms/common/shader_arguments.h"\n\nnamespace mollify::glsl {\n\n'
            f"struct {struct} {{\n  static constexpr std::string_view kKernel = \"{path.stem}\";\n" + "\n".join(lines) +
            "\n\n  void put_into(Pass& pass) const {\n" + "\n".join(puts) + "\n  }\n};\n\n}  // namespace mollify::glsl\n")


def compile_shader(args):
    path = args.shader
    axes, skips, is_checked = parse_header(path.read_text(encoding="utf-8"))
    variants, read = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for chosen in combinations(axes, skips):
            if chosen is None:
                variants.append(None)
                continue
            try:
                words, tables, files = compile_variant(args, list(macros(axes, chosen)), folder)
            except (Failure, spirv.Refused) as error:
                variant = " ".join(f"{name}={value}" for name, value in chosen.items())
                raise Failure(f"variant {variant}: {error}" if variant else str(error)) from error
            variants.append((words, tables))
            read.update(dict.fromkeys(files))
    if not any(variants):
        raise Failure("every variant is skipped")
    if args.depfile:
        escaped = [re.sub(r"([ #])", r"\\\1", str(file)).replace("$", "$$") for file in (args.output, *read)]
        args.depfile.write_text(f"{escaped[0]}: {' '.join(escaped[1:])}\n", encoding="utf-8")
    if args.header:
        header = arguments_header(path, axes, variants)
        if not args.header.exists() or args.header.read_text(encoding="utf-8") != header:  # else what includes it stays as it is
            args.header.write_text(header, encoding="utf-8")
    return shader_source(path, axes, variants, is_checked)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shader", type=Path, metavar="SHADER.comp")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--glslc", default="glslc")
    parser.add_argument("--spirv-val", default="spirv-val")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--header", type=Path)
    parser.add_argument("--depfile", type=Path)
    args = parser.parse_args()
    try:
        if not re.fullmatch("[a-z][a-z0-9_]*", args.shader.stem):
            raise Failure("the name of a shader is in lower_case")
        args.output.write_text(compile_shader(args), encoding="utf-8")
    except (Failure, OSError) as error:
        sys.exit(f"{args.shader}: {error}")


if __name__ == "__main__":
    main()
