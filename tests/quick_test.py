"""Does ci/quick know which tests a changed file can break, also before anything has been built?"""

import importlib.util
import os
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Quick(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name) / "dev"
        (self.build / "hlc").mkdir(parents=True)
        os.environ["FENCEPOST_BUILD_DIR"] = folder.name
        spec = importlib.util.spec_from_file_location("quick", ROOT / "tests/gate/quick.py")
        self.quick = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.quick)

    def test_a_test_is_known_before_its_program_is_built(self):
        (self.build / "hlc/CTestTestfile.cmake").write_text(f'add_test([=[hlc_test]=] "{self.build}/bin/hlc_test")\n'
                                                            'add_test([=[style]=] "/usr/bin/python3" "style_check.py")\n')
        self.assertEqual(self.quick.known_tests(), {"hlc_test": ("bin/hlc_test", "hlc"), "style": ("", "hlc")})

    def test_a_header_reaches_programs_that_are_not_built(self):
        source = str(ROOT / "hlc/hlc.cc").replace(" ", "$ ")
        (self.build / "build.ninja").write_text(f"build hlc.o: CXX {source} || order\nbuild libhlc.a: AR hlc.o\n"
                                                "build bin/hlc_test: LINK other.o | libhlc.a || bin/fencepost\n")
        made = self.quick.Graph().made_of(["hlc/hlc.h"])
        self.assertIn("bin/hlc_test", made)
        self.assertNotIn("bin/fencepost", made)
        self.assertIn("bin/hlc_test", self.quick.Graph().made_of(["base/result.h"]), "included by hlc.h")


if __name__ == "__main__":
    unittest.main()
