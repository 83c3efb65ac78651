"""What a compute shader asks of its caller, read from the words of its SPIR-V module.

Names survive only in unoptimised modules, so those are what to reflect.
"""
import struct
from typing import NamedTuple

MAGIC = 0x07230203
HEADER_WORDS = 5

# Numbers of the SPIR-V specification that matter here.
OP_NAME, OP_MEMBER_NAME, OP_CAPABILITY, OP_EXECUTION_MODE_ID = 5, 6, 17, 331
OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT, OP_TYPE_VECTOR = 20, 21, 22, 23
OP_TYPE_IMAGE, OP_TYPE_SAMPLED_IMAGE, OP_TYPE_STRUCT, OP_TYPE_POINTER = 25, 27, 30, 32
OP_SPEC_CONSTANT_TRUE, OP_SPEC_CONSTANT_FALSE, OP_SPEC_CONSTANT, OP_SPEC_CONSTANT_COMPOSITE = 48, 49, 50, 51
OP_VARIABLE, OP_DECORATE, OP_MEMBER_DECORATE = 59, 71, 72
SPEC_ID, BLOCK, BUFFER_BLOCK, BUILT_IN, NON_WRITABLE, BINDING, DESCRIPTOR_SET, OFFSET = 1, 2, 3, 11, 24, 33, 34, 35
BUILT_IN_WORKGROUP_SIZE = 25
MODE_LOCAL_SIZE_ID = 38
CLASS_UNIFORM_CONSTANT, CLASS_UNIFORM, CLASS_PUSH_CONSTANT, CLASS_STORAGE_BUFFER = 0, 2, 9, 12
DIM_BUFFER, DIM_SUBPASS = 5, 6
IMAGE_IS_STORAGE = 2

GROUP_NAMES = ("group_x", "group_y", "group_z")


class Refused(Exception):
    """The module is not one that the library can run; the message says why."""


class Constant(NamedTuple):
    name: str
    id: int
    type: str
    default_bits: int


class Parameter(NamedTuple):
    name: str
    offset: int
    type: str
    components: int


class Binding(NamedTuple):
    name: str
    binding: int
    kind: str
    read_only: bool


def instructions(words):
    """(opcode, operands) of each instruction of a module."""
    at = HEADER_WORDS
    while at < len(words):
        length, op = words[at] >> 16, words[at] & 0xFFFF
        if length == 0:
            raise Refused("a SPIR-V instruction of no words")
        yield op, words[at + 1:at + length]
        at += length


class Module:
    """The instructions that describe an interface, sorted by what they say."""

    def __init__(self, binary):
        if len(binary) < 20 or len(binary) % 4 or struct.unpack_from("<I", binary)[0] != MAGIC:
            raise Refused("not a SPIR-V module of little-endian words")
        self.words = struct.unpack(f"<{len(binary) // 4}I", binary)
        self.names, self.member_names = {}, {}
        self.decorations, self.member_decorations = {}, {}
        self.types, self.spec_constants, self.composites, self.variables = {}, {}, {}, []
        self.capabilities, self.execution_modes_by_id = [], []
        for op, operands in instructions(self.words):
            self._sort_in(op, operands)

    def _sort_in(self, op, operands):
        if op == OP_NAME:
            self.names[operands[0]] = text(operands[1:])
        elif op == OP_MEMBER_NAME:
            self.member_names[operands[0], operands[1]] = text(operands[2:])
        elif op == OP_DECORATE:
            self.decorations.setdefault(operands[0], {})[operands[1]] = operands[2:]
        elif op == OP_MEMBER_DECORATE:
            self.member_decorations.setdefault((operands[0], operands[1]), {})[operands[2]] = operands[3:]
        elif op == OP_CAPABILITY:
            self.capabilities.append(operands[0])
        elif op == OP_EXECUTION_MODE_ID:
            self.execution_modes_by_id.append(operands[1])
        elif OP_TYPE_BOOL <= op <= OP_TYPE_POINTER:
            self.types[operands[0]] = (op, operands[1:])
        elif op in (OP_SPEC_CONSTANT_TRUE, OP_SPEC_CONSTANT_FALSE, OP_SPEC_CONSTANT):
            bits = operands[2:] if op == OP_SPEC_CONSTANT else (int(op == OP_SPEC_CONSTANT_TRUE),)
            self.spec_constants[operands[1]] = (operands[0], bits)
        elif op == OP_SPEC_CONSTANT_COMPOSITE:
            self.composites[operands[1]] = operands[2:]
        elif op == OP_VARIABLE:
            self.variables.append((operands[1], operands[0], operands[2]))

    def scalar(self, type_id):
        """The name of a 32-bit scalar type, or None."""
        op, operands = self.types[type_id]
        if op == OP_TYPE_INT and operands[0] == 32:
            return "int32" if operands[1] else "uint32"
        if op == OP_TYPE_FLOAT and operands[0] == 32:
            return "float32"
        return "boolean" if op == OP_TYPE_BOOL else None

    def decoration(self, an_id, which):
        """The first operand of a decoration, or None."""
        operands = self.decorations.get(an_id, {}).get(which)
        return operands[0] if operands else None

    def spec_ids(self):
        """SpecIds as they are declared: two constants can share one."""
        return [self.decoration(an_id, SPEC_ID) for an_id in self.spec_constants
                if self.decoration(an_id, SPEC_ID) is not None]

    def check_group_size(self):
        """The group size must follow the first two constants."""
        # Drivers exist that read LocalSizeId wrongly and say nothing; WorkgroupSize works everywhere.
        if MODE_LOCAL_SIZE_ID in self.execution_modes_by_id:
            raise Refused("the module has execution mode LocalSizeId, which some drivers get wrong")
        if not {0, 1} <= {spec_id for _, spec_id in self._group_constants()}:
            raise Refused("declare layout(local_size_x_id = 0, local_size_y_id = 1) in;")

    def _group_constants(self):
        """(id, SpecId) of the components of the group size that are where they belong: x 0, y 1, z 2."""
        for composite, parts in self.composites.items():
            if self.decoration(composite, BUILT_IN) == BUILT_IN_WORKGROUP_SIZE:
                for component, part in enumerate(parts):
                    if self.decoration(part, SPEC_ID) == component:
                        yield part, component

    def constants(self):
        group = {an_id: GROUP_NAMES[component] for an_id, component in self._group_constants()}
        found = []
        for an_id, (type_id, bits) in self.spec_constants.items():
            spec_id = self.decoration(an_id, SPEC_ID)
            if spec_id is None:
                continue
            name = group.get(an_id) or self.names.get(an_id)
            if not name:
                raise Refused(f"the specialization constant with id {spec_id} has no name; "
                              "group sizes are local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2")
            if self.scalar(type_id) is None:
                raise Refused(f"specialization constant {name} is not an int, uint, float or bool of 32 bits")
            found.append(Constant(name, spec_id, self.scalar(type_id), bits[0]))
        for what in ("id", "name"):
            refuse_duplicates(f"two specialization constants have the {what}", [getattr(c, what) for c in found])
        return sorted(found, key=lambda c: c.id)

    def parameters(self):
        blocks = [type_id for _, type_id, storage in self.variables if storage == CLASS_PUSH_CONSTANT]
        if len(blocks) > 1:
            raise Refused("more than one block of push constants")
        found = []
        for pointer in blocks:
            struct_id = self.types[pointer][1][1]
            for member, type_id in enumerate(self.types[struct_id][1]):
                name, components = self.member_names[struct_id, member], 1
                op, operands = self.types[type_id]
                if op == OP_TYPE_VECTOR:
                    type_id, components = operands
                scalar = self.scalar(type_id)
                if scalar is None:
                    raise Refused(f"push constant {name} is not a scalar or a vector of 32 bits a component")
                offset = self.member_decorations[struct_id, member][OFFSET][0]
                found.append(Parameter(name, offset, scalar, components))
        return sorted(found, key=lambda p: p.offset)

    def bindings(self):
        found = {}
        for an_id, pointer, storage in self.variables:
            number = self.decoration(an_id, BINDING)
            if number is None:
                continue
            type_id = self.types[pointer][1][1]
            name = self.names.get(an_id) or self.names.get(type_id)
            if self.decoration(an_id, DESCRIPTOR_SET) != 0:
                raise Refused(f"{name} is not in descriptor set 0")
            one = Binding(name, number, self._kind(name, type_id, storage), self._read_only(an_id, type_id, storage))
            found[number] = merge(found[number], one) if number in found else one
        return [found[number] for number in sorted(found)]

    def _kind(self, name, type_id, storage):
        op, operands = self.types[type_id]
        decorations = self.decorations.get(type_id, {})
        if storage == CLASS_STORAGE_BUFFER and op == OP_TYPE_STRUCT:
            return "storage_buffer"
        if storage == CLASS_UNIFORM and op == OP_TYPE_STRUCT:
            return "storage_buffer" if BUFFER_BLOCK in decorations else "uniform_buffer"
        if storage == CLASS_UNIFORM_CONSTANT and op in (OP_TYPE_IMAGE, OP_TYPE_SAMPLED_IMAGE):
            # Image operands: component type, dimension, depth, arrayed, multisampled, sampled, format.
            image = operands if op == OP_TYPE_IMAGE else self.types[operands[0]][1]
            if image[1] not in (DIM_BUFFER, DIM_SUBPASS):
                if op == OP_TYPE_SAMPLED_IMAGE:
                    return "sampled_image"
                if image[5] == IMAGE_IS_STORAGE:
                    return "storage_image"
        raise Refused(f"{name} is not a sampled image, a storage image, a uniform buffer or a storage buffer; "
                      "arrays of them are not known either")

    def _read_only(self, an_id, type_id, storage):
        op, operands = self.types[type_id]
        if op == OP_TYPE_SAMPLED_IMAGE or (storage == CLASS_UNIFORM and BLOCK in self.decorations.get(type_id, {})):
            return True
        if NON_WRITABLE in self.decorations.get(an_id, {}):
            return True
        return op == OP_TYPE_STRUCT and all(NON_WRITABLE in self.member_decorations.get((type_id, member), {})
                                            for member in range(len(operands)))


def merge(a, b):
    """One binding seen as two variables, such as one buffer of bytes and of words."""
    if a.kind != b.kind:
        raise Refused(f"{a.name} and {b.name} share binding {a.binding} but are {a.kind} and {b.kind}")
    # The order of variables in a module is that of their first use, so the name must not depend on it.
    name = min(a.name, b.name, key=lambda n: (len(n), n))
    return Binding(name, a.binding, a.kind, a.read_only and b.read_only)


def refuse_duplicates(what, values):
    for value in values:
        if values.count(value) > 1:
            raise Refused(f"{what} {value}")


def text(words):
    return struct.pack(f"<{len(words)}I", *words).split(b"\0", 1)[0].decode()
