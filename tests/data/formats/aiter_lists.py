# ckrules: ignore[CFG001] copies are kept on purpose
from dataclasses import dataclass


@dataclass
class kernelInstance:
    sTransposeC: bool
    sUseStructuredSparsity: bool
    sTileParitionerGroupNum: int
    sTileParitionerM01: int
    sNumWaveGroups: int
    sDoubleSmemBuffer: bool
    PadM: bool
    PadN: bool
    PadK: bool
    BlockPerCu: int
    MTile: int
    NTile: int
    KTile: int
    MWarp: int
    NWarp: int
    KWarp: int
    MWTile: int
    NWTile: int
    KWTile: int
    sScheduler: str = "Default"


kernels_list_942 = {
    0: kernelInstance(0, 0, 8, 4, 1, 0, 0, 0, 0, 1, 128, 128, 128, 1, 4, 1, 16, 16, 64, "Default"),
    1: kernelInstance(0, 0, 8, 4, 1, 0, 0, 0, 0, 2, 16, 64, 512, 2, 2, 1, 16, 16, 64),
    2: kernelInstance(0, 1, 8, 4, 1, 0, 0, 0, 0, 1, 128, 128, 128, 1, 4, 1, 16, 16, 64, "Default"),
    3: kernelInstance(0, 0, 8, 4, 1, 0, 0, 0, 0, 1, 2 * 64, 128, 128, 1, 4, 1, 16, 16, 64),
}
