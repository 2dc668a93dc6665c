// swift-tools-version: 6.0
import PackageDescription

/// Every target is built alike: Swift 6 mode (complete concurrency checking), own
/// `~Escapable` views, and warnings that must not stay.
let house: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
]

/// Async functions of this floor run where their caller does, so that none costs a hop: those
/// that need the loop go there themselves.
let inheriting: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

extension Target {
  static func example(_ name: String) -> Target {
    .executableTarget(
      name: name, dependencies: ["CoreBluetooth"], path: "Sources/Examples/\(name)")
  }
}

/// Tests/Fuzz/run sets this: then the fuzz targets are a program that libFuzzer runs, and otherwise
/// a test that replays what has been found. Ordinary builds see neither.
let isFuzzing = Context.environment["ATTO_FUZZING"] != nil

extension Target {
  static var fuzzTargets: Target {
    let tested: [Dependency] = [
      "ATT", "GATT", "Simulation", "Files", "Radio", "Store", "Atto",
      "Links", "LinkTiming",
    ]
    let path = "Tests/Fuzz"
    return isFuzzing
      ? .executableTarget(
        name: "FuzzTargets", dependencies: tested, path: path,
        exclude: ["run", "dictionaries", "Replay"], swiftSettings: house)
      : .testTarget(
        name: "FuzzTargets", dependencies: tested, path: path,
        exclude: ["run", "dictionaries", "Entry"], swiftSettings: house)
  }
}

let package = Package(
  name: "Atto",
  products: [
    .library(name: "ATT", targets: ["ATT"]),
    .library(name: "GATT", targets: ["GATT"]),
    .library(name: "Atto", targets: ["Atto"]),
    .library(name: "Store", targets: ["Store"]),
    .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
    .library(name: "os", targets: ["os"]),
    .executable(name: "atto", targets: ["AttoCLI"]),
  ],
  targets: [
    // Floor 0: what Linux offers.
    .target(name: "CLinux"),
    // Looks libsqlite3 up when it is first wanted: nothing is linked with it.
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("dl")]),
    // Floors 1 and 2: sans-IO; they import nothing.
    .target(name: "ATT", swiftSettings: house),
    .target(name: "GATT", dependencies: ["ATT"], swiftSettings: house),
    // Floor 3: carriers, the executor, virtual time.
    .target(name: "Links", dependencies: ["ATT", "CLinux"], swiftSettings: house),
    .target(name: "EventLoop", dependencies: ["CLinux"], swiftSettings: house),
    .target(name: "Simulation", dependencies: ["ATT", "GATT", "Links"], swiftSettings: house),
    .target(name: "LinkTiming", swiftSettings: house),
    // Floor 4: adapters and the virtual air.
    .target(
      name: "Radio", dependencies: ["ATT", "Links", "EventLoop", "LinkTiming", "CLinux"],
      swiftSettings: house),
    // Floor 5: the async API.
    .target(
      name: "Atto",
      dependencies: ["ATT", "GATT", "Links", "EventLoop", "LinkTiming", "Radio", "CLinux"],
      swiftSettings: house + inheriting),
    // Floor 6: what is kept, file formats and the command.
    .target(
      name: "Store", dependencies: ["Atto", "CSQLite", "CLinux"], swiftSettings: house),
    .target(
      name: "Files", dependencies: ["ATT", "GATT"], exclude: ["AssignedNumbers/generate.py"],
      swiftSettings: house),
    // Hostile input, by catalogue and by seed.
    .target(name: "Hostility", dependencies: ["ATT", "Links"], swiftSettings: house),
    .target(
      name: "Conformance", dependencies: ["ATT", "GATT", "Files"], swiftSettings: house),
    .executableTarget(
      name: "AttoCLI",
      dependencies: ["Atto", "Files", "Conformance", "Hostility", "Store", "LinkTiming", "CLinux"],
      swiftSettings: house),

    // Runs seeds of the simulator; built by the tests only.
    .executableTarget(
      name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulate", swiftSettings: house),

    // What Tests/Counts/run counts; built by the tests only.
    .executableTarget(
      name: "counts", dependencies: ["Atto", "Files"], path: "Tests/Counts/Program",
      swiftSettings: house),

    // Floor 6: Apple's API. The one target that uses Foundation.
    .target(name: "CoreBluetooth", dependencies: ["Atto", "CLinux"], swiftSettings: house),

    // `import os` and `import os.log` for clients that log through them: a Clang module of that
    // name, which can have submodules, under a Swift module.
    .target(name: "COSLog"),
    .target(name: "os", dependencies: ["COSLog"], swiftSettings: house),

    // Programs as one would write them for Apple's framework.
    .example("HeartRatePeripheral"), .example("HeartRateCentral"), .example("TransferSender"),
    .example("TransferReceiver"), .example("ReconnectingLogger"), .example("ChannelPublisher"),
    .example("ChannelOpener"),

    .testTarget(name: "ATTTests", dependencies: ["ATT"], swiftSettings: house),
    .testTarget(name: "GATTTests", dependencies: ["GATT", "Simulation"], swiftSettings: house),
    .testTarget(
      name: "SimulationTests", dependencies: ["Simulation", "ATT", "GATT"], swiftSettings: house),
    .testTarget(
      name: "EventLoopTests", dependencies: ["EventLoop", "CLinux"], swiftSettings: house),
    .testTarget(name: "LinksTests", dependencies: ["Links", "CLinux"], swiftSettings: house),
    .testTarget(name: "LinkTimingTests", dependencies: ["LinkTiming"], swiftSettings: house),
    .testTarget(name: "RadioTests", dependencies: ["Radio", "LinkTiming"], swiftSettings: house),
    .testTarget(name: "AttoTests", dependencies: ["Atto", "EventLoop"], swiftSettings: house),
    // Killed again and again by StoreTests while it keeps records.
    .executableTarget(
      name: "StoreWorker", dependencies: ["Store"], path: "Tests/StoreWorker",
      swiftSettings: house),
    .testTarget(
      name: "StoreTests", dependencies: ["Store", "StoreWorker", "CSQLite", "CLinux"],
      swiftSettings: house),
    .testTarget(
      name: "HostilityTests", dependencies: ["Hostility", "ATT", "GATT"], swiftSettings: house),
    // The published attacks, each against both roles.
    .testTarget(
      name: "AttackTests", dependencies: ["ATT", "GATT", "Simulation", "Atto"],
      swiftSettings: house),
    .testTarget(
      name: "FilesTests", dependencies: ["Files", "ATT", "GATT", "Simulation"],
      swiftSettings: house),
    .testTarget(
      name: "ConformanceTests",
      dependencies: ["Conformance", "Files", "ATT", "GATT", "Simulation"],
      swiftSettings: house),
    .fuzzTargets,
    // Like the examples without our settings: built as apps are.
    .testTarget(name: "CoreBluetoothTests", dependencies: ["CoreBluetooth", "Atto"]),
    // Sources as tutorials for Apple's systems have them, in the language mode that they are for: that
    // they compile is what is tested.
    .testTarget(
      name: "TutorialSources", dependencies: ["CoreBluetooth"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "OSLogTests", dependencies: ["os", "CoreBluetooth"]),
  ],
  swiftLanguageModes: [.v6]
)

/// Tests/run sets this to names of test targets with `|` between them, where it builds everything anew
/// for those alone.
if let chosen = Context.environment["ATTO_TESTS"]?.split(separator: "|").map(String.init) {
  package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}
