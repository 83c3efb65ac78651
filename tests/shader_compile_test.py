"""shaders/compile.py on small shaders: what a C++ program finds in the generated source, and what fails the build."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
COMPILE = [sys.executable, "-B", ROOT / "shaders" / "compile.py"]
sys.path.insert(0, str(ROOT / "shaders"))
import compile as compile_shaders  # noqa: E402
import matrices  # noqa: E402
import spirv  # noqa: E402

GLSLC = os.environ.get("MOLLIFY_GLSLC", "glslc")
CXX = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
       f"-I{ROOT / 'src'}"]

# Prints every shader as JSON, variants in their stored order and again as Shader::variant() finds them.
DUMP = r"""
#include <cstdio>
#include <vector>
#include "backends/vulkan/shader.h"
using namespace mollify::vulkan;
static void row(const char* name, auto&& each, auto&& list) {
  std::printf(",\"%s\":[", name);
  const char* comma = "";
  for (const auto& one : list) { std::printf("%s", comma); comma = ","; each(one); }
  std::printf("]");
}
static const char* s(std::string_view text) { return text.data(); }
int main() {
  const char* comma = "[";
  for (const Shader* shader : shaders()) {
    std::printf("%s{\"id\":\"%s\",\"found\":%d", comma, s(shader->id), find_shader(shader->id) == shader);
    comma = ",";
    row("axes", [](const ShaderAxis& a) {
      std::printf("{\"name\":\"%s\"", s(a.name));
      row("values", [](std::string_view v) { std::printf("\"%s\"", s(v)); }, a.values);
      std::printf("}");
    }, shader->axes);
    row("variants", [](const ShaderVariant& v) {
      const bool aligned = reinterpret_cast<std::uintptr_t>(v.words.data()) % 4 == 0;
      std::printf("{\"magic\":%u,\"aligned\":%d,\"checked\":%d", v.words.empty() ? 0 : v.words[0], aligned, v.is_checked);
      row("constants", [](const ShaderConstant& c) {
        std::printf("[\"%s\",%u,%d,%u]", s(c.name), c.id, int(c.type), c.default_bits);
      }, v.constants);
      row("parameters", [](const ShaderParameter& p) {
        std::printf("[\"%s\",%u,%d,%u]", s(p.name), p.offset, int(p.type), p.components);
      }, v.parameters);
      row("bindings", [](const ShaderBinding& b) {
        std::printf("[\"%s\",%u,%d,%d]", s(b.name), b.binding, int(b.kind), b.read_only);
      }, v.bindings);
      row("capabilities", [](std::uint32_t c) { std::printf("%u", c); }, v.capabilities);
      std::printf("}");
    }, shader->variants);
    // Where variant() finds 00, 01, 02, 10, 11, 12; -1 for null.
    std::vector<long> places;
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 3; ++b) {
        const std::size_t key[] = {a, b};
        const ShaderVariant* v = shader->variant(key);
        places.push_back(v ? v - shader->variants.data() : -1);
      }
    row("places", [](long p) { std::printf("%ld", p); }, places);
    const std::size_t too_long[] = {0, 0, 0};
    std::printf(",\"wrong_key\":%d,\"empty_key\":%d}", shader->variant(too_long) != nullptr,
                shader->variant({}) != nullptr);
  }
  std::printf("]");
  return find_shader("") || find_shader("zzz") ? 1 : 0;
}
"""
BOOLEAN, INT, UINT, FLOAT = range(4)
SAMPLED, IMAGE, UNIFORM, STORAGE = range(4)
READ_ONLY, WRITABLE = 1, 0

GROUP = "layout(local_size_x_id = 0, local_size_y_id = 1) in;\n"
OUT = "layout(set = 0, binding = 0) buffer Out { float result[]; };\n"


def shader(declarations="", statements="", header="", group=GROUP):
    return f"#version 460\n{header}{group}{OUT}{declarations}void main() {{ result[0] = 1.0; {statements} }}\n"


class ShaderCompile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.programs.cleanup)
        dump = Path(cls.programs.name, "dump.cpp")
        dump.write_text(DUMP)
        cls.objects = []
        for source in (dump, ROOT / "src/backends/vulkan/shader.cpp"):
            cls.objects.append(Path(cls.programs.name, source.stem + ".o"))
            subprocess.run([*CXX, "-c", source, "-o", cls.objects[-1]], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with a space ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "lib").mkdir()

    def compile(self, source, name="probe", **tools):
        path = self.folder / f"{name}.comp"
        path.write_text(source)
        tools = {"glslc": GLSLC, "spirv-val": os.environ.get("MOLLIFY_SPIRV_VAL", "spirv-val"), **tools}
        return subprocess.run(
            [*COMPILE, path, "--include", self.folder / "lib", "--output", path.with_suffix(".cpp"),
             "--depfile", path.with_suffix(".d"), *(f"--{tool}={where}" for tool, where in tools.items())],
            capture_output=True, text=True, check=False)

    def load(self, **sources):
        """Compiles shaders, then a program of them, and returns what that prints."""
        for name, source in sources.items():
            done = self.compile(source, name)
            self.assertEqual(done.returncode, 0, done.stderr)
        paths = [self.folder / f"{name}.comp" for name in sources]
        table, program = self.folder / "table.cpp", self.folder / "program"
        table.write_text('#include <array>\n#include "backends/vulkan/shader.h"\nnamespace mollify::vulkan {\n' +
                         "".join(f"extern const Shader kShader_{name};\n" for name in sorted(sources)) +
                         f"std::span<const Shader* const> shaders() {{\n  static constexpr std::array<const Shader*, {len(sources)}> all = {{" +
                         ", ".join(f"&kShader_{name}" for name in sorted(sources)) + "};\n  return all;\n}\n}\n")
        subprocess.run([*CXX, *self.objects, table, *(path.with_suffix(".cpp") for path in paths), "-o", program],
                       check=True)
        return json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)

    def load_variant(self, *parts, **more):
        return self.load(probe=shader(*parts, **more))[0]["variants"][0]

    def assert_refused(self, source, message, **tools):
        done = self.compile(source, **tools)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, message)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse((self.folder / "probe.cpp").exists())

    def tool(self, script):
        path = self.folder / "tool"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    # Variants

    def test_no_axis_is_one_variant_of_aligned_words_that_begin_with_the_magic(self):
        found, = self.load(probe=shader())
        self.assertEqual((found["id"], found["axes"], len(found["variants"])), ("probe", [], 1))
        self.assertEqual((found["variants"][0]["magic"], found["variants"][0]["aligned"]), (0x07230203, 1))
        self.assertEqual((found["wrong_key"], found["empty_key"]), (0, 1))

    def test_last_axis_is_fastest_and_skipped_variants_keep_their_place(self):
        found, = self.load(probe=shader(
            header="//@ axis STORAGE buffer image\n//@ axis CACHE none unorm8 f16\n"
                   "//@ skip STORAGE=image CACHE=unorm8\n",
            declarations="layout(constant_id = 5) const int mark = STORAGE * 10 + CACHE;\n"
                         "#if STORAGE == STORAGE_image && CACHE == CACHE_f16\n"
                         "layout(constant_id = 6) const int last = 1;\n#endif\n"))
        self.assertEqual(found["axes"], [{"name": "storage", "values": ["buffer", "image"]},
                                         {"name": "cache", "values": ["none", "unorm8", "f16"]}])
        constants = [{name: default for name, _, _, default in v["constants"]} for v in found["variants"]]
        self.assertEqual([c.get("mark") for c in constants], [0, 1, 2, 10, None, 12])
        self.assertEqual(["last" in c for c in constants], [False] * 5 + [True])
        self.assertEqual(found["variants"][4]["magic"], 0)
        self.assertEqual(found["places"], [0, 1, 2, 3, -1, 5])
        self.assertEqual((found["wrong_key"], found["empty_key"]), (0, 0))

    def test_accesses_are_checked_where_the_shader_says_so(self):
        found = self.load(a=shader(header="//@ checked\n//@ axis STORAGE buffer image\n"), b=shader())
        self.assertEqual([[v["checked"] for v in s["variants"]] for s in found], [[1, 1], [0]])

    def test_shaders_are_found_by_their_ids(self):
        found = self.load(b_second=shader(), c=shader(), a=shader())
        self.assertEqual([(s["id"], s["found"]) for s in found], [("a", 1), ("b_second", 1), ("c", 1)])

    def test_bad_headers_are_refused(self):
        for header, message in [("//@ axis storage buffer\n", "line 2.*UPPER_CASE"),
                                ("//@ axis STORAGE\n", "line 2.*different values"),
                                ("//@ axis STORAGE a a\n", "line 2.*different values"),
                                ("//@ axis A b\n//@ axis A c\n", "line 3.*new word"),
                                ("//@ sikp A=b\n", "line 2: expected"),
                                ("//@ checked always\n", "line 2: expected"),
                                ("//@ axis A b c\n//@ skip A=d\n", "'//@ skip A=d' is about no axis"),
                                ("//@ axis A b\n//@ skip A=b\n", "every variant is skipped"),
                                ("const int a = 1;\n//@ axis A b\n", "line 3: .* before the code")]:
            with self.subTest(header=header):
                self.assert_refused(shader(header=header), message)

    # Reflection

    def test_group_size_constants_are_named(self):
        group = "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"
        self.assertEqual(self.load_variant()["constants"], [["group_x", 0, UINT, 1], ["group_y", 1, UINT, 1]])
        self.assertEqual([c[:2] for c in self.load_variant(group=group)["constants"]],
                         [["group_x", 0], ["group_y", 1], ["group_z", 2]])

    def test_constants_have_name_id_type_and_default(self):
        found = self.load_variant(
            "layout(constant_id = 12) const float gain = 0.5;\nlayout(constant_id = 7) const int radius = -4;\n"
            "layout(constant_id = 8) const uint mask = 0xfffffff0u;\nlayout(constant_id = 9) const bool yes = true;\n"
            "layout(constant_id = 10) const bool no = false;\nlayout(constant_id = 11) const int unused = 3;\n"
            "const int doubled = radius * 2;\n",
            "if (yes || no) result[doubled] = gain + float(mask);")
        self.assertEqual(found["constants"][2:], [
            ["radius", 7, INT, 2**32 - 4], ["mask", 8, UINT, 0xfffffff0], ["yes", 9, BOOLEAN, 1],
            ["no", 10, BOOLEAN, 0], ["unused", 11, INT, 3], ["gain", 12, FLOAT, 0x3f000000]])

    def test_push_constants_have_offset_type_and_components(self):
        found = self.load_variant(
            "layout(push_constant, std430) uniform Push {\n"
            "  ivec2 size; uint pitch; float gain; vec3 sum; int last; vec4 color; ivec4 box; bool flip; } push;\n",
            "result[1] = push.gain;")
        self.assertEqual(found["parameters"], [
            ["size", 0, INT, 2], ["pitch", 8, UINT, 1], ["gain", 12, FLOAT, 1], ["sum", 16, FLOAT, 3],
            ["last", 28, INT, 1], ["color", 32, FLOAT, 4], ["box", 48, INT, 4], ["flip", 64, UINT, 1]])

    def test_bindings_have_name_number_kind_and_access(self):
        found = self.load_variant(
            "layout(set = 0, binding = 5) uniform sampler2D source;\n"
            "layout(set = 0, binding = 4, rgba8) uniform writeonly image2D target;\n"
            "layout(set = 0, binding = 3, rgba8) uniform readonly image2D seen;\n"
            "layout(set = 0, binding = 2) uniform Weights { vec4 weights[16]; } taps;\n"
            "layout(set = 0, binding = 1) readonly buffer In { float data[]; };\n",
            "result[1] = data[0] + taps.weights[1].x; imageStore(target, ivec2(0), imageLoad(seen, ivec2(0)));\n"
            "result[2] = textureLod(source, vec2(0), 0).x;")
        self.assertEqual(found["bindings"], [
            ["Out", 0, STORAGE, WRITABLE], ["In", 1, STORAGE, READ_ONLY], ["taps", 2, UNIFORM, READ_ONLY],
            ["seen", 3, IMAGE, READ_ONLY], ["target", 4, IMAGE, WRITABLE], ["source", 5, SAMPLED, READ_ONLY]])

    def test_aliases_are_one_binding_with_the_shortest_name(self):
        found = self.load_variant(
            "layout(set = 0, binding = 1) readonly buffer SrcWords { uint src_words[]; };\n"
            "layout(set = 0, binding = 1) buffer Src { float src[]; };\n"
            "layout(set = 0, binding = 1) readonly buffer SrcPairs { uvec2 src_pairs[]; };\n",
            "result[1] = float(src_pairs[0].x) + src[1] + float(src_words[2]);")
        self.assertEqual(found["bindings"][1:], [["Src", 1, STORAGE, WRITABLE]])

    def test_capabilities(self):
        plain = self.load_variant()["capabilities"]
        found = self.load_variant("shared float sums[64];\n", "result[1] = subgroupAdd(result[1]);",
                                  header="#extension GL_KHR_shader_subgroup_arithmetic : require\n")["capabilities"]
        self.assertEqual(plain, [1])  # Shader
        self.assertEqual(found, [1, 61, 63])  # GroupNonUniform, GroupNonUniformArithmetic

    def test_uniform_blocks_may_be_packed(self):
        found = self.load_variant("layout(set = 0, binding = 1, std430) uniform W { float w[9]; };\n",
                                  "result[1] = w[8];", header="#extension GL_EXT_scalar_block_layout : require\n")
        self.assertEqual(found["bindings"][1], ["W", 1, UNIFORM, READ_ONLY])

    # Refusals

    def test_compile_error_names_the_variant(self):
        source = shader("#if B == B_q\nint x = nonsense;\n#endif\n", header="//@ axis A m n\n//@ axis B p q\n")
        self.assert_refused(source, r"(?s)probe\.comp: variant A=m B=q: glslc failed\n.*nonsense")

    def test_warnings_are_errors(self):
        self.assert_refused(shader("#extension GL_EXT_nonsense : enable\n"), "(?s)glslc failed.*GL_EXT_nonsense")

    def test_invalid_module_is_refused(self):
        self.assert_refused(shader(), r"(?s)tool failed\nreason", **{"spirv-val": self.tool("echo reason; exit 1")})

    def test_missing_tool_is_named(self):
        self.assert_refused(shader(), "cannot run /nowhere/glslc: No such file", glslc="/nowhere/glslc")

    def test_local_size_id_is_refused(self):
        # Which a later target environment is known to emit; the validator would refuse that environment as a whole.
        replace = 'for a; do shift; set -- "$@" "$(echo "$a" | sed s/vulkan1.2/vulkan1.3/)"; done'
        newer = self.tool(f'{replace}; "{GLSLC}" "$@"')
        self.assert_refused(shader(), "execution mode LocalSizeId", glslc=newer, **{"spirv-val": "true"})

    def test_fixed_group_size_is_refused(self):
        for group in ("layout(local_size_x = 64) in;\n", "layout(local_size_x_id = 0) in;\n",
                      "layout(local_size_x_id = 0, local_size_z_id = 2) in;\n"):
            with self.subTest(group=group):
                self.assert_refused(shader(group=group), "declare layout")

    def test_constant_without_a_name_is_refused(self):
        group = "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 3) in;\n"
        self.assert_refused(shader(group=group), "constant with id 3 has no name")

    def test_constants_that_share_an_id_or_a_name_are_refused(self):
        self.assert_refused(shader("layout(constant_id = 0) const uint width = 8;\n", "result[width] = 2;"),
                            "two specialization constants have the id 0")
        self.assert_refused(shader("layout(constant_id = 9) const uint group_x = 8;\n", "result[group_x] = 2;"),
                            "two specialization constants have the name group_x")

    def test_constant_of_another_width_is_refused(self):
        self.assert_refused(shader("layout(constant_id = 9) const double wide = 8;\n", "result[1] = float(wide);"),
                            "wide is not an int, uint, float or bool")

    def test_push_constants_without_a_plain_type_are_refused(self):
        for member in ("mat2 odd;", "float odd[2];", "double odd;"):
            with self.subTest(member=member):
                block = f"layout(push_constant) uniform Push {{ {member} }};\n"
                self.assert_refused(shader(block), "push constant odd")

    def test_aliases_of_two_kinds_are_refused(self):
        also = "layout(set = 0, binding = 0) uniform Also { vec4 also; };\n"
        self.assert_refused(shader(also, "result[1] = also.x;"),
                            "share binding 0 but are storage_buffer and uniform_buffer|"
                            "share binding 0 but are uniform_buffer and storage_buffer")

    def test_bindings_of_other_kinds_and_sets_are_refused(self):
        for declaration, message in [
                ("layout(set = 1, binding = 1) uniform U { vec4 u; };\n", "U is not in descriptor set 0"),
                ("layout(set = 0, binding = 1) uniform sampler2D odd[2];\n", "odd is not a sampled image"),
                ("layout(set = 0, binding = 1) uniform texture2D odd;\n", "odd is not a sampled image"),
                ("layout(set = 0, binding = 1) uniform samplerBuffer odd;\n", "odd is not a sampled image")]:
            with self.subTest(declaration=declaration):
                self.assert_refused(shader(declaration), message)

    # Matrices

    MATRICES = """#version 460
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(set = 0, binding = 0) buffer Out { uvec4 result[]; };
shared uvec4 cells[64];
void main() {
  fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> left;
  fcoopmatNV<16, gl_ScopeSubgroup, 16, 8> right;
  coopMatLoadNV(left, cells, 0, 2, true);
  coopMatLoadNV(right, cells, 32, 1, false);
  fcoopmatNV<32, gl_ScopeSubgroup, 16, 8> sum = fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>(0.0);
  sum = coopMatMulAddNV(left, right, sum);
  coopMatStoreNV(fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>(sum), result, 0, 1, false);
}
"""

    def test_matrices_ask_for_the_extension_that_most_devices_have(self):
        found = self.load(probe=self.MATRICES)[0]["variants"][0]
        self.assertIn(matrices.KHR_CAPABILITY, found["capabilities"])
        self.assertNotIn(matrices.NV_CAPABILITY, found["capabilities"])

    def translated(self, source):
        """The words of a shader that multiplies matrices, and what kind of a matrix the id of each type is."""
        path, binary = self.folder / "probe.comp", self.folder / "probe.spv"
        path.write_text(source)
        subprocess.run([GLSLC, "-fshader-stage=compute", "--target-env=vulkan1.2", "-O", path, "-o", binary], check=True)
        words = matrices.to_khr(spirv.Module(binary.read_bytes()).words)
        numbers = {operands[1]: operands[2] for op, operands in spirv.instructions(words) if op == matrices.OP_CONSTANT}
        kinds = {operands[0]: tuple(numbers[n] for n in operands[3:6])
                 for op, operands in spirv.instructions(words) if op == matrices.KHR_TYPE}
        self.assertLess(max(max(numbers), max(kinds)), words[matrices.BOUND_AT])
        return words, numbers, kinds

    LEFT, RIGHT, SUM = (16, 16, matrices.LEFT), (16, 8, matrices.RIGHT), (16, 8, matrices.SUM)

    def test_matrices_have_the_use_that_products_make_of_their_type(self):
        words, numbers, kinds = self.translated(self.MATRICES)
        loads, stores, products, converted, extensions = [], [], [], [], []
        for op, operands in spirv.instructions(words):
            self.assertNotIn(op, range(matrices.NV_TYPE, matrices.NV_LENGTH + 1))
            self.assertNotEqual(op, matrices.CONVERT_USE)
            if op == matrices.OP_EXTENSION:
                extensions.append(spirv.text(operands))
            elif op == matrices.KHR_LOAD:
                loads.append((kinds[operands[0]], numbers[operands[3]], numbers[operands[4]]))
            elif op == matrices.KHR_STORE:
                stores.append((operands[1], numbers[operands[2]], numbers[operands[3]]))
            elif op == matrices.KHR_MULTIPLY_ADD:
                products.append(kinds[operands[0]])
            elif op == matrices.OP_F_CONVERT and operands[0] in kinds:
                converted.append((operands[1], kinds[operands[0]]))
        self.assertIn("SPV_KHR_cooperative_matrix", extensions)
        self.assertNotIn("SPV_NV_cooperative_matrix", extensions)
        self.assertNotIn("SPV_NV_cooperative_matrix2", extensions)
        self.assertEqual(sorted(kinds.values()), sorted([self.LEFT, self.RIGHT, self.SUM, self.SUM]))  # floats, and halves of them
        self.assertEqual(loads, [(self.LEFT, matrices.BY_COLUMNS, 2), (self.RIGHT, matrices.BY_ROWS, 1)])
        self.assertEqual(products, [self.SUM])
        self.assertEqual([kind for _, kind in converted], [self.SUM])  # halves of a sum that are stored are no operand
        self.assertEqual(stores, [(converted[0][0], matrices.BY_ROWS, 1)])

    STORE = "  coopMatStoreNV(fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>(sum)"
    AGAIN = ("  right = fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>(sum);\n"
             "  sum = coopMatMulAddNV(left, right, fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>(1.0));\n")

    def test_sums_become_operands_by_an_extension_of_its_own(self):
        words, _, kinds = self.translated(self.MATRICES.replace(self.STORE, self.AGAIN + self.STORE))
        code = list(spirv.instructions(words))
        self.assertIn((spirv.OP_CAPABILITY, (matrices.CONVERSIONS_CAPABILITY,)), code)
        self.assertIn("SPV_NV_cooperative_matrix2", [spirv.text(operands) for op, operands in code if op == matrices.OP_EXTENSION])
        self.assertGreaterEqual(words[matrices.VERSION_AT], matrices.VERSION_OF_CONVERSIONS)
        (kind, operand, source), = [operands for op, operands in code if op == matrices.CONVERT_USE]
        self.assertEqual(kinds[kind], self.RIGHT)
        rounded = {operands[1]: kinds[operands[0]] for op, operands in code if op == matrices.OP_F_CONVERT and operands[0] in kinds}
        self.assertEqual(rounded[source], self.SUM)
        self.assertIn(operand, [operands[1] for op, operands in code if op == matrices.OP_STORE])

    def test_matrices_get_no_use_that_nothing_makes_of_them(self):
        words, _, _ = self.translated(self.MATRICES.replace(self.STORE, "  coopMatStoreNV(sum"))
        self.assertEqual([op for op, _ in spirv.instructions(words)].count(matrices.KHR_TYPE), 3)

    def test_what_the_extension_has_no_word_for_is_refused(self):
        end = "}\n"
        self.assert_refused(self.MATRICES[:-len(end)] + "  result[1].x = uint(sum.length());\n" + end, "the length of a matrix is asked for")
        self.assert_refused(self.MATRICES.replace("16, 16> left", "16, 8> left").replace("16, 8> right", "8, 8> right")
                            .replace(self.STORE, "  sum = coopMatMulAddNV(fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>(1.0), left, sum);\n" + self.STORE),
                            "matrices of one type are operands of two kinds")
        # What glslc makes no module of, or might one day.
        left, right, total, halves, product = 1, 2, 3, 9, [3, 13, 10, 11, 12]
        module = [(matrices.NV_TYPE, [kind]) for kind in (left, right, total)]
        module += [(matrices.NV_LOAD, [left, 10]), (matrices.NV_LOAD, [right, 11]), (matrices.NV_LOAD, [total, 12]),
                   (matrices.NV_MULTIPLY_ADD, product)]
        stored = [*module, (matrices.OP_F_CONVERT, [right, halves, 13]), (matrices.NV_STORE, [4, halves])]
        self.assertEqual(matrices.Uses(stored).to_operands, set())
        for again in ((matrices.OP_STORE, [5, halves]), (matrices.OP_PHI, [right, 6, halves, 7])):
            with self.assertRaisesRegex(spirv.Refused, "are an operand as well"):
                matrices.Uses([*stored, again])
        with self.assertRaisesRegex(spirv.Refused, "only sums are"):
            matrices.Uses([*module, (matrices.OP_F_CONVERT, [total, 8, 10])])

    # Files

    def test_depfile_lists_the_includes_of_every_variant(self):
        for name, text in [("a.glsl", "const int a = 1;\n"), ("b.glsl", '#include "c.glsl"\n'), ("c.glsl", "\n")]:
            (self.folder / "lib" / name).write_text(text)
        source = shader(header="//@ axis A m n\n#extension GL_GOOGLE_include_directive : require\n"
                               '#if A == A_m\n#include "a.glsl"\n#else\n#include "b.glsl"\n#endif\n')
        self.assertEqual(self.compile(source).returncode, 0)
        words = re.split(r"(?<!\\) ", (self.folder / "probe.d").read_text().strip())
        target, *files = [word.replace("\\ ", " ") for word in words]
        self.assertEqual(target, f"{self.folder / 'probe.cpp'}:")
        self.assertEqual(set(files), {str(self.folder / "probe.comp"),
                                      *(str(self.folder / "lib" / name) for name in ("a.glsl", "b.glsl", "c.glsl"))})

    # Arguments

    def put(self, said, wanted=""):
        """What the struct of a shader, made of the initializers `said`, puts into a pass; None where compilers refuse it."""
        source = shader(
            "layout(constant_id = 3) const int rows = 1;\nlayout(constant_id = 4) const bool source_is_float = false;\n"
            "#if SUM == SUM_wide\nlayout(constant_id = 5) const bool is_whole = false;\n#endif\n"
            "layout(push_constant, std430) uniform Push { ivec2 size; ivec2 skip; vec4 poles; float gain; } push;\n",
            "result[rows] = push.gain;", header="//@ axis STORAGE buffer image\n//@ axis SUM narrow wide\n")
        header = self.folder / "probe_arguments.h"
        self.assertEqual(self.compile(source, header=header).returncode, 0)
        program = self.folder / "put"
        (self.folder / "put.cpp").write_text(
            '#include <cstdio>\n#include "probe_arguments.h"\nint main() {\n  mollify::Pass pass;\n'
            f"  const mollify::glsl::Probe probe{{{said}}};\n  probe.put_into(pass);\n"
            '  for (auto& [name, value] : pass.constants) std::printf("%s=%d ", name.c_str(), int(value));\n'
            '  for (auto& [name, value] : pass.parameters) std::printf("%s=%g ", name.c_str(), value);\n}\n')
        done = subprocess.run([*CXX, f"-I{ROOT / 'include'}", f"-I{self.folder}", self.folder / "put.cpp", "-o", program],
                              capture_output=True, text=True, check=False)
        self.assertIn(wanted, done.stderr)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout if done.returncode == 0 else None

    def test_arguments_become_constants_and_parameters_of_a_pass(self):
        self.assertEqual(self.put(".gain = 0.5, .poles = {1.0, 2.0, 3.0, 4.0}, .rows = 7, .skip = {1, 2}, .sum = true"),
                         "rows=7 skip_x=1 skip_y=2 sum=1 gain=0.5 poles_w=4 poles_x=1 poles_y=2 poles_z=3 ")
        self.assertEqual(self.put(".gain = 1.0, .is_whole = true, .poles = {}, .rows = 1, .size = {8, 9}, .skip = {}, .sum = 0"),
                         "is_whole=1 rows=1 size_x=8 size_y=9 sum=0 gain=1 ")

    def test_arguments_that_are_misspelt_or_left_out_do_not_compile(self):
        self.assertIsNone(self.put(".gain = 1.0, .poles = {}, .rwos = 1, .skip = {}, .sum = 0", "rwos"))
        self.assertIsNone(self.put(".gain = 1.0, .poles = {}, .skip = {}, .sum = 0", "rows"))
        self.assertIsNone(self.put(".gain = 1.0, .poles = {}, .rows = 1, .skip = {}, .source_is_float = 1, .sum = 0", "source_is_float"))

    def test_names_that_passes_need_not_say_are_those_of_the_backend(self):
        text = (ROOT / "src/backends/vulkan/pipeline.cpp").read_text(encoding="utf-8")
        table = text[text.index("Numbers standard_numbers("):text.index("/// Finds numbers by name")]
        self.assertEqual(set(re.findall(r'\{"(\w+)", ', table)), compile_shaders.STANDARD)

    def test_generated_source_does_not_say_where_it_was_made(self):
        self.assertEqual(self.compile(shader()).returncode, 0)
        self.assertNotIn(str(self.folder), (self.folder / "probe.cpp").read_text())


if __name__ == "__main__":
    unittest.main()
