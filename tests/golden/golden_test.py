"""What golden.py itself does: renaming, and saying what differs."""
import unittest

import golden

OLD = ("sep.fused:batch=2,math=f32 moved=10 scratch=20 between=0 error=1e-07 reach=1+1x1+1"
       " | sep_fused size=8x8 tile=4x4 groups=2x2 threads=32x1 from=source to=destination"
       " constants:batch=2,segment=4 parameters:scale=0.5")


class RenamesTest(unittest.TestCase):
    def test_each_kind_in_its_place_only(self):
        renames = golden.Renames("option sep.fused batch rows\nvalue sep.fused:math f32 single\nkernel * sep_fused fused\n"
                                 "constant sep_fused segment chunk\nparameter * scale gain\nalgorithm * sep.fused sep.one\n")
        self.assertEqual(renames.decision(OLD),
                         "sep.one:math=single,rows=2 moved=10 scratch=20 between=0 error=1e-07 reach=1+1x1+1"
                         " | fused size=8x8 tile=4x4 groups=2x2 threads=32x1 from=source to=destination"
                         " constants:batch=2,chunk=4 parameters:gain=0.5")
        self.assertEqual(renames.request("batch=4/sep.fused:batch=1/8x8/rgba8/box:radius=1/clamp"),
                         "batch=4/sep.one:rows=1/8x8/rgba8/box:radius=1/clamp")
        self.assertEqual(renames.request("auto/8x8/rgba8/box:radius=1/clamp"), "auto/8x8/rgba8/box:radius=1/clamp")
        renames.check_all_used()

    def test_a_row_that_renames_nothing_is_an_error(self):
        renames = golden.Renames("option box.any batch rows\n")
        renames.decision(OLD)
        with self.assertRaises(SystemExit):
            renames.check_all_used()

    def test_what_is_not_a_row_is_an_error(self):
        for text in ("option sep.fused batch", "options sep.fused batch rows", "option sep.fused batch -> rows"):
            with self.assertRaises(SystemExit):
                golden.Renames(text)


class DifferenceTest(unittest.TestCase):
    def kind_of(self, old, new):
        found = golden.difference(("cpu", "request"), old, new)
        return found and (found.kind, found.old, found.new)

    def test_names_the_first_kind_and_what_differs(self):
        self.assertIsNone(self.kind_of(OLD, OLD))
        for old, new, expected in (
                ("sep.fused:", "box.any:", ("algorithm", "sep.fused", "box.any")),
                ("math=f32", "math=f16", ("options", "math=f32", "math=f16")),
                ("| sep_fused ", "| fused ", ("kernels", "sep_fused", "fused")),
                ("groups=2x2", "groups=2x3", ("launches", "groups=2x2", "groups=2x3")),
                ("segment=4", "segment=8", ("constants and parameters", "segment=4", "segment=8")),
                ("scratch=20", "scratch=21", ("bytes", "scratch=20", "scratch=21")),
                ("error=1e-07", "error=2e-07", ("error", "error=1e-07", "error=2e-07")),
                ("reach=1+1", "reach=2+1", ("reach and images", "reach=1+1x1+1", "reach=2+1x1+1"))):
            self.assertEqual(self.kind_of(OLD, OLD.replace(old, new)), expected)

    def test_a_plan_that_is_refused_now(self):
        self.assertEqual(self.kind_of(OLD, "refused"), ("plan or refusal", "sep.fused:batch=2,math=f32", "refused"))

    def test_every_change_of_a_line_has_a_kind(self):
        self.assertEqual(self.kind_of(OLD, OLD.replace("reach", "image=8x8:r8 reach"))[0], "reach and images")
        self.assertEqual(self.kind_of(OLD, OLD.replace(" parameters", ",x=1 parameters"))[0], "constants and parameters")
        self.assertEqual(self.kind_of(OLD, OLD.replace("from", "taps=3x3:1x1:1,1 from"))[0], "weights")

    def test_a_field_that_moves_to_another_pass(self):
        first, second = (OLD.replace(" from", f"{a} from") + f" | copy{b}" for a, b in ((" taps=3x3", ""), ("", " taps=3x3")))
        self.assertEqual(self.kind_of(first, second)[0], "order")


if __name__ == "__main__":
    unittest.main()
