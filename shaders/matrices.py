"""Matrices of SPV_NV_cooperative_matrix, which glslc writes, as those of SPV_KHR_cooperative_matrix.

The latter is what most devices have. It gives each matrix a use, and a driver keeps it as its use wants it: NVIDIA 580 turns every
right operand of the former over, each time it is multiplied.

What a matrix is used as follows from its type: 32-bit numbers are sums; of others those that are taller than wide are right operands
and the rest left ones. Sums that are converted to halves stay sums, and can only be stored. So shaders must have matrices of no other
shapes, take sums to operands by way of memory, and count the numbers that a lane holds themselves: .length() is a constant expression
that the extension does not name.
"""
from spirv import HEADER_WORDS, OP_CAPABILITY, OP_TYPE_FLOAT, OP_TYPE_INT, Refused, instructions

NV_CAPABILITY, KHR_CAPABILITY = 5357, 6022
NV_EXTENSION, KHR_EXTENSION = "SPV_NV_cooperative_matrix", "SPV_KHR_cooperative_matrix"
NV_TYPE, NV_LOAD, NV_STORE, NV_MULTIPLY_ADD, NV_LENGTH = range(5358, 5363)
KHR_TYPE, KHR_LOAD, KHR_STORE, KHR_MULTIPLY_ADD = range(4456, 4460)
OP_EXTENSION, OP_CONSTANT_TRUE, OP_CONSTANT_FALSE, OP_CONSTANT, OP_SPEC_CONSTANT_OP, OP_F_CONVERT = 10, 41, 42, 43, 52, 115
LEFT, RIGHT, SUM = 0, 1, 2   # uses
BY_ROWS, BY_COLUMNS = 0, 1   # layouts in memory
BOUND_AT = 3                 # in the header: one more than the largest id


def string_words(string):
    data = string.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return [int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), 4)]


class Translation:
    """Of one module, instruction by instruction."""

    def __init__(self, words):
        self.header = list(words[:HEADER_WORDS])
        self.out = []
        self.numbers = [self.new_id() for _ in (LEFT, RIGHT, SUM)]  # ids of the constants 0, 1 and 2
        self.widths, self.values, self.is_true = {}, {}, {}  # of component types and constants
        self.operand_types, self.stored_as = set(), {}
        code = [(op, list(operands)) for op, operands in instructions(words)]
        self.converted_to = {operands[0] for op, operands in code if op == OP_F_CONVERT}
        for op, operands in code:
            self.translate(op, operands)
        self.words = tuple(self.header + self.out)

    def new_id(self):
        self.header[BOUND_AT] += 1
        return self.header[BOUND_AT] - 1

    def emit(self, op, *operands):
        self.out += [len(operands) + 1 << 16 | op, *operands]

    def translate(self, op, operands):
        if op == OP_CAPABILITY and operands == [NV_CAPABILITY]:
            self.emit(op, KHR_CAPABILITY)
        elif op == OP_EXTENSION and operands == string_words(NV_EXTENSION):
            self.emit(op, *string_words(KHR_EXTENSION))
        elif op == NV_TYPE:
            self.declare(*operands)
        elif op == NV_LOAD:
            kind, result, pointer, stride, by_columns, *access = operands
            self.emit(KHR_LOAD, kind, result, pointer, self.layout(by_columns), stride, *access)
        elif op == NV_STORE:
            pointer, matrix, stride, by_columns, *access = operands
            self.emit(KHR_STORE, pointer, matrix, self.layout(by_columns), stride, *access)
        elif op == NV_MULTIPLY_ADD:
            self.emit(KHR_MULTIPLY_ADD, *operands)
        elif op == NV_LENGTH or op == OP_SPEC_CONSTANT_OP and operands[2] == NV_LENGTH:
            raise Refused("the length of a matrix is asked for: divide its numbers by the lanes of a subgroup")
        elif op == OP_F_CONVERT and operands[0] in self.stored_as:
            self.emit(op, self.stored_as[operands[0]], *operands[1:])
        elif op == OP_F_CONVERT and operands[0] in self.operand_types:
            raise Refused("a matrix is converted to a left operand: take it there by way of memory")
        else:
            self.note(op, operands)
            self.emit(op, *operands)
            if op == OP_TYPE_INT and operands[1:] == [32, 0]:
                for number, an_id in enumerate(self.numbers):
                    self.emit(OP_CONSTANT, operands[0], an_id, number)

    def note(self, op, operands):
        if op in (OP_TYPE_INT, OP_TYPE_FLOAT):
            self.widths[operands[0]] = operands[1]
        elif op == OP_CONSTANT:
            self.values[operands[1]] = operands[2]
        elif op in (OP_CONSTANT_TRUE, OP_CONSTANT_FALSE):
            self.is_true[operands[1]] = op == OP_CONSTANT_TRUE

    def layout(self, by_columns):
        return self.numbers[BY_COLUMNS if self.is_true[by_columns] else BY_ROWS]

    def declare(self, kind, component, scope, rows, columns):
        is_sum = self.widths[component] == 32
        is_right = not is_sum and self.values[rows] > self.values[columns]
        use = SUM if is_sum else RIGHT if is_right else LEFT
        self.emit(KHR_TYPE, kind, component, scope, rows, columns, self.numbers[use])
        if not is_sum:
            self.operand_types.add(kind)
        if is_right and kind in self.converted_to:
            self.stored_as[kind] = self.new_id()
            self.emit(KHR_TYPE, self.stored_as[kind], component, scope, rows, columns, self.numbers[SUM])


def to_khr(words):
    """The words of the same module."""
    return Translation(words).words
