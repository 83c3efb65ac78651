"""TIFF files whose samples have several types, and numbers that GPUs do not have."""
import json
import subprocess
import unittest

import numpy as np
import tifffile
from scipy.ndimage import gaussian_filter

from tests.files.blurring import TOOL, BlurTest
from tests.files.tiff_files import write_mixed

RANDOM = np.random.default_rng()
GPU = next((device["open_name"] for device in json.loads(subprocess.run([TOOL, "list", "devices", "--json"], capture_output=True).stdout)
            if device["open_name"].startswith("vulkan")), None)


class SeveralTypes(BlurTest):
    """No library writes such files, so they are made by hand, as codes of samples."""

    def write(self, planes, kinds, **options):
        """Numbers of several types become codes."""
        codes = np.dstack([np.ascontiguousarray(plane).view(f"u{plane.itemsize}").astype(object) for plane in planes])
        write_mixed(self.path("a.tif"), codes, kinds, **options)

    def plane(self, kind):
        if kind[0] == "f":
            return RANDOM.random((23, 37)).astype(f"f{int(kind[1:]) // 8}")
        dtype = np.dtype(f"{kind[0]}{int(kind[1:]) // 8}")
        return RANDOM.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (23, 37), dtype, endpoint=True)

    def test_kinds_that_differ(self):
        """All become the smallest type that has the numbers of all. Unsigned integers beside floats are colours: full scale is 1."""
        for kinds, dtype, scales in ((("u8", "u8", "u8", "f32"), "f4", (1 / 255, 1 / 255, 1 / 255, 1)),
                                     (("u16", "i16"), "i4", (1, 1)), (("u8", "i8"), "i2", (1, 1)), (("i16", "i32"), "i4", (1, 1)),
                                     (("u32", "i32"), "f8", (1, 1)), (("f32", "f64"), "f8", (1, 1)), (("f16", "f32"), "f4", (1, 1)),
                                     (("i16", "f32"), "f4", (1, 1)), (("i16", "u64"), "f8", (1, 1))):
            planes = [self.plane(kind) for kind in kinds]
            for options in ({}, {"compression": "deflate", "tile": (16, 32)}, {"planar": True, "compression": "lzw"},
                            {"compression": "zstd", "predictor": 2}, {"big": True}):
                with self.subTest(kinds=kinds, **options):
                    self.write(planes, kinds, photometric=2 if len(kinds) > 3 else 1, **options)
                    done = self.blur("a.tif", "b.tif", "--box", 0)
                    self.assertTrue("channels of several types" in done.printed or "64-bit floats" in done.printed, done)
                    got = tifffile.imread(self.path("b.tif"))
                    self.assertEqual(got.dtype, dtype)
                    got = np.moveaxis(got, 0, 2) if options.get("planar") else got
                    for i, (plane, scale) in enumerate(zip(planes, scales)):
                        if scale == 1:
                            np.testing.assert_array_equal(got[..., i], plane.astype(dtype))
                        else:
                            np.testing.assert_allclose(got[..., i], plane * scale, rtol=1e-6)

    def test_the_blur_of_kinds_that_differ(self):
        planes = [self.plane(kind) for kind in ("u8", "f32")]
        self.write(planes, ("u8", "f32"), photometric=1)
        self.blur("a.tif", "b.tif", "--gaussian", 2)
        got = tifffile.imread(self.path("b.tif"))
        for i, (plane, scale) in enumerate(zip(planes, (1 / 255, 1))):
            exact = gaussian_filter(plane * float(scale), 2, mode="nearest", truncate=8)
            self.assertLessEqual(np.abs(got[..., i] - exact).max(), 1e-5)

    def test_other_formats_and_scales(self):
        planes = [self.plane(kind) for kind in ("u8", "u8", "f32")]
        self.write(planes, ("u8", "u8", "f32"))
        self.blur("a.tif", "b.png", "--box", 0)
        subprocess.run(["vips", "copy", self.path("b.png"), self.path("c.tif")], check=True)
        got = tifffile.imread(self.path("c.tif"))
        self.assertEqual(got.dtype, np.uint16)
        for i, full in enumerate((255, 255, 1)):
            self.assertLessEqual(np.abs(got[..., i] / 65535 - planes[i] / full).max(), 0.6 / 65535)
        self.blur("a.tif", "d.tif", "--box", 0, "--scale", "data")
        for i in range(3):
            np.testing.assert_array_equal(tifffile.imread(self.path("d.tif"))[..., i], planes[i].astype("f4"))


@unittest.skipIf(GPU is None, "no Vulkan device")
class OnGpus(BlurTest):
    def test_numbers_that_gpus_lack_are_blurred_on_the_cpu(self):
        """One line says so, and the result is that of the CPU."""
        for dtype, name in (("i4", "signed 32-bit integers"), ("u4", "32-bit integers"), ("f8", "64-bit floats")):
            pixels = (RANDOM.normal(size=(60, 80)) * 2**27).astype(dtype) if dtype != "u4" else RANDOM.integers(0, 2**32, (60, 80), dtype)
            tifffile.imwrite(self.path("a.tif"), pixels, metadata=None, photometric="minisblack")
            self.blur("a.tif", "cpu.tif", "--gaussian", 3)
            done = self.blur("a.tif", "gpu.tif", "--gaussian", 3, "--device", GPU)
            line = f"{name} are blurred on the CPU, since Vulkan has no such format"
            self.assertEqual(done.printed.count(line), 1, done)
            self.assertEqual(self.path("gpu.tif").read_bytes(), self.path("cpu.tif").read_bytes())
            self.assertIn(line, self.blur("a.tif", "none.tif", "--gaussian", 3, "--device", GPU, "--dry-run").printed)

    def test_integers_that_no_plan_is_exact_enough_for(self):
        """They are data. Who names an error hears that the GPU has no plan for it."""
        for dtype, name in (("i1", "signed 8-bit integers"), ("i2", "signed 16-bit integers")):
            pixels = RANDOM.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (60, 80), dtype, endpoint=True)
            tifffile.imwrite(self.path("a.tif"), pixels, metadata=None, photometric="minisblack")
            self.blur("a.tif", "cpu.tif", "--gaussian", 3)
            done = self.blur("a.tif", "gpu.tif", "--gaussian", 3, "--device", GPU)
            self.assertEqual(done.printed.count(f"{name} are blurred on the CPU, since no plan of the GPU is exact enough for them"), 1, done)
            self.assertEqual(self.path("gpu.tif").read_bytes(), self.path("cpu.tif").read_bytes())
            self.assertNotIn("CPU", self.blur("a.tif", "b.tif", "--gaussian", 3, "--device", GPU, "--max-error", "1e-4").printed)
            self.assert_refused(self.try_to_blur("a.tif", "c.tif", "--gaussian", 3, "--device", GPU, "--max-error", "1e-7"))

    def test_pyramids_are_made_on_the_cpu(self):
        """Of numbers of any type, with the bytes that the CPU is asked for."""
        for dtype in ("u1", "u2", "i2", "i4", "u4", "f2", "f4", "f8"):
            pixels = (RANDOM.random((300, 400)) * 100).astype(dtype)
            tifffile.imwrite(self.path("a.tif"), pixels, metadata=None, photometric="minisblack")
            done = [subprocess.run([TOOL, "pyramid", "a.tif", name, "--device", device], cwd=self.folder, capture_output=True, text=True)
                    for name, device in ((f"{dtype}_cpu.tif", "cpu"), (f"{dtype}_gpu.tif", GPU))]
            self.assertEqual([(run.returncode, run.stderr, "made on the CPU" in run.stdout) for run in done],
                             [(0, "", False), (0, "", True)], dtype)
            self.assertEqual(self.path(f"{dtype}_gpu.tif").read_bytes(), self.path(f"{dtype}_cpu.tif").read_bytes())

    def test_others_stay_on_the_gpu(self):
        tifffile.imwrite(self.path("a.tif"), RANDOM.integers(0, 256, (60, 80), dtype=np.uint8), metadata=None, photometric="minisblack")
        done = self.blur("a.tif", "b.tif", "--gaussian", 3, "--device", GPU)
        self.assertNotIn("CPU", done.printed)

    def test_planes_of_one_file_on_both(self):
        """Bytes on the GPU, doubles on the CPU."""
        bytes_, doubles = RANDOM.integers(0, 256, (60, 80), dtype=np.uint8), RANDOM.random((50, 70))
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(bytes_, metadata=None, photometric="minisblack")
            file.write(doubles, metadata=None, photometric="minisblack")
        done = self.blur("a.tif", "b.tif", "--gaussian", 3, "--device", GPU)
        self.assertIn("64-bit floats are blurred on the CPU", done.printed)
        with tifffile.TiffFile(self.path("b.tif")) as file:
            got = [page.asarray() for page in file.pages]
        for plane, blurred, error in zip((bytes_, doubles), got, (1, 1e-9)):
            exact = gaussian_filter(plane.astype(float), 3, mode="nearest", truncate=8)
            self.assertLessEqual(np.abs(blurred - exact).max(), error)


if __name__ == "__main__":
    unittest.main()
