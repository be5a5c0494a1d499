"""For Spack: installs the tarball of `cargo xtask wheel`, which runs wherever it is unpacked.

    spack repo add packaging/spack
    cd FOLDER-OF-THE-TARBALL && spack install --no-checksum mpi-tool
"""

import os

from spack.package import *


class MpiTool(Package):
    """Tools that show what an MPI program does: where its time goes, which rank hangs, what is wrong with it. The
    program may be written in C, C++, Fortran or Python, and is not recompiled."""

    homepage = "https://crates.io/crates/mpi-tool"
    manual_download = True
    license("MIT OR Apache-2.0")

    version("0.1.0")

    # The tools have no MPI in them: one installation serves all MPIs.
    conflicts("platform=darwin", msg="the tools are for Linux")
    conflicts("target=aarch64:", msg="the tools are for x86-64")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/mpi-tool-{version}-x86_64-linux.tar.gz"

    def install(self, spec, prefix):
        install_tree(".", prefix)

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.lib.python)

    @run_after("install")
    def check_install(self):
        Executable(self.prefix.bin.join("mpi-tool"))("--version")
