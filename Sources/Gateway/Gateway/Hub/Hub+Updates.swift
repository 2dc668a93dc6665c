import Atto
import AttoEventLoop
import AttoSMP
import AttoText
import Glibc

/// The updates of a hub. The loop's thread only.
struct Updates {
  struct UnderWay {
    var plan: UpdatePlan
    var task: Task<Void, Never>?
  }

  var plans: [Int: UnderWay] = [:]
  var lastPlan = 0
  /// The last news of each device.
  var progress: [String: UpdateProgress] = [:]
  var watchers: [UInt64: BatchQueue<UpdateProgress>] = [:]
  /// Whether the file is being written, how often the plans have changed, and the change that the file has.
  var isWriting = false
  var changes = 0
  var written = 0
  let writers = WaiterList<Int, Void, GatewayError>()
  /// The devices to which somebody talks, and those who wait for the end of that.
  var talks: Set<String> = []
  let talkers = WaiterList<String, Void, GatewayError>()
}

/// New firmware for devices with MCUmgr.
///
/// # Theory
/// The devices of a plan are updated in order, one at a time, so that a bad image meets one device: the
/// first failure ends the plan. Several plans run side by side, but a device is in one of them.
///
/// The plans are in the file `updates.json` of the state folder until they are done. A gateway that was
/// killed goes on with them when it starts, and the device says how much of the image it has. Each step
/// looks first what is left to do (`FirmwareUpdate`), so it does not matter where the gateway stopped.
///
/// A device notifies its responses to all users of the link, and each numbers its requests from 0. So only one
/// of them talks to a device at a time: an update, or the question for its version.
extension Hub {
  /// Plans at one time. Each has its image in memory.
  static let planLimit = 4
  /// The time for a link to a device. Some advertise rarely.
  static let updateLinkTime: Duration = .seconds(600)
  /// Attempts that bring nothing new, until the update fails.
  static let updateAttempts = 10
  static let updatePause: Duration = .seconds(1)
  /// News that wait for one consumer.
  static let updateNewsLimit = 1024

  /// Begins to carry out a plan.
  ///
  /// - Returns: the version of the image, and its octets.
  /// - Throws: `unknownDevice`, `update`.
  package func update(
    _ plan: UpdatePlan
  ) async throws(GatewayError) -> (version: String, size: Int) {
    guard let folder = configuration.firmware else { throw .update(.noFolder) }
    guard configuration.fleet == nil else { throw .update(.inFleet) }
    try check(plan)
    let image: FirmwareImage
    do throws(UpdateFault) { image = try await read(plan, in: folder) } catch {
      throw .update(error)
    }
    // Again: another request may have begun meanwhile.
    try check(plan)
    let number = add(plan, image)
    // What has begun goes on after a restart.
    await keptPlans()
    start(number, image)
    return (image.version.description, image.octets.count)
  }

  private func check(_ plan: UpdatePlan) throws(GatewayError) {
    guard !plan.devices.isEmpty else { throw .update(.noDevice) }
    guard plan.devices.count <= UpdatePlan.deviceLimit else { throw .update(.tooManyDevices) }
    var seen: Set<String> = []
    for device in plan.devices {
      _ = try self.device(named: device)
      guard seen.insert(device).inserted else { throw .update(.repeated(device)) }
      if underWay(device) != nil { throw .update(.underWay(device)) }
    }
    guard updates.plans.count < Self.planLimit else {
      throw .update(.tooManyPlans(limit: Self.planLimit))
    }
  }

  /// The plan that a device is in, and its number; nil if there is none.
  private func underWay(_ device: String) -> (number: Int, Updates.UnderWay)? {
    updates.plans.first { $0.value.plan.devices.contains(device) }.map { ($0.key, $0.value) }
  }

  /// Ends the update of a device, and of those that wait for it.
  ///
  /// - Throws: `update(.noUpdate)`.
  package func cancelUpdate(of device: String) throws(GatewayError) {
    guard let (number, found) = underWay(device) else { throw .update(.noUpdate(device)) }
    updates.plans[number] = nil
    found.task?.cancel()
    for device in found.plan.devices { end(device, .cancelled, "cancelled by a request") }
    keepPlans()
  }

  /// Looks which firmware a device runs that is to have an image of the configuration, and which version that is.
  package func examineFirmware(of name: String) async {
    guard let folder = configuration.firmware, let device = named[name],
      let file = device.here({ $0.configuration?.firmware })
    else { return }
    // An update that has begun asks by itself, and knows the version in the end.
    guard underWay(name) == nil else { return }
    let plan = UpdatePlan(file: file, devices: [name])
    var found = UpdateProgress(device: name, file: file)
    found.stage = .idle
    do throws(UpdateFault) {
      let image = try await read(plan, in: folder)
      (found.version, found.size) = (image.version.description, image.octets.count)
    } catch {
      found.problem = "\(error)"
    }
    do {
      try await beginTalk(with: name)
      defer { endTalk(with: name) }
      let use = device.here { $0.use(as: "update", isPassive: true) }
      let client = SMPClient(try await DeviceCarrier(use, within: .zero))
      found.installed = try await client.slots(of: plan.image).first(where: \.isActive)?.version
    } catch {
      if Task.isCancelled { return }
      found.problem = found.problem ?? "\(error)"
    }
    // An update knows better, also one that has ended.
    guard
      updates.progress[name].map({ $0.stage == .idle || $0.file != file && $0.stage.isEnd }) ?? true
    else { return }
    tell(found)
  }

  /// The last news of each device, in order of names.
  package var updateProgress: [UpdateProgress] {
    updates.progress.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The news from now on, for one consumer.
  package func updateNews() -> Batches<UpdateProgress> {
    lastListener += 1
    let id = lastListener
    let queue = BatchQueue<UpdateProgress>(limit: Self.updateNewsLimit)
    updates.watchers[id] = queue
    return Batches(queue, on: loop) { [weak self] in
      guard let self else { return }
      self.loop.execute { self.here { $0.updates.watchers[id] = nil } }
    }
  }

  /// Goes on with the plans of a gateway that has ended.
  func resumeUpdates() async {
    guard let path = planPath, let folder = configuration.firmware, configuration.fleet == nil,
      let plans = await Blocking.result(on: loop, { Self.plans(in: path) }) ?? nil
    else { return }
    for plan in plans where updates.plans.count < Self.planLimit && !plan.devices.isEmpty {
      do throws(UpdateFault) {
        let image = try await read(plan, in: folder)
        start(add(plan, image), image)
        log(.info, "going on with the update of \(plan.devices.joined(separator: ", "))")
      } catch {
        log(.warning, "an update cannot go on: \(error)")
        for device in plan.devices {
          updates.progress[device] = UpdateProgress(device: device, file: plan.file)
          end(device, .failed, "\(error)")
        }
      }
    }
    keepPlans()
  }

  private func read(
    _ plan: UpdatePlan, in folder: String
  ) async throws(UpdateFault) -> FirmwareImage {
    let image = await Blocking.result(on: loop) {
      Result { () throws(UpdateFault) in try plan.read(in: folder) }
    }
    guard let image else { throw .noThread }
    return try image.get()
  }

  // MARK: - One plan

  /// - Returns: the number of the plan.
  private func add(_ plan: UpdatePlan, _ image: FirmwareImage) -> Int {
    updates.lastPlan += 1
    updates.plans[updates.lastPlan] = Updates.UnderWay(plan: plan)
    // After a restart, another file of this name is not taken for it.
    updates.plans[updates.lastPlan]?.plan.sha256 = image.fileDigits
    for device in plan.devices {
      var progress = UpdateProgress(device: device, file: plan.file)
      progress.version = image.version.description
      progress.size = image.octets.count
      tell(progress)
    }
    return updates.lastPlan
  }

  private func start(_ number: Int, _ image: FirmwareImage) {
    // It may have been cancelled by now.
    guard let plan = updates.plans[number]?.plan else { return }
    var update = FirmwareUpdate(image)
    update.number = plan.image
    update.onlyUpgrade = plan.onlyUpgrade
    updates.plans[number]?.task = Task(executorPreference: loop.tasks) { [update] in
      await self.carryOut(number, plan, update)
    }
  }

  private func carryOut(_ number: Int, _ plan: UpdatePlan, _ update: FirmwareUpdate) async {
    for name in plan.devices {
      do {
        let stage = try await carryOut(plan, update, on: name)
        // Without it, the plan was cancelled.
        guard updates.plans[number] != nil else { return }
        end(name, stage)
        log(.info, "\(name): \(plan.file) \(update.image.version): \(stage.rawValue)")
        updates.plans[number]?.plan.devices.removeFirst()
        keepPlans()
      } catch {
        // A hub that ends leaves the plan in the file.
        guard updates.plans[number] != nil, !Task.isCancelled else { return }
        var problem = "\(error)"
        if let hint = (error as? FirmwareUpdate.Fault)?.hint { problem += " (\(hint))" }
        log(.warning, "\(name): the update with \(plan.file) has failed: \(problem)")
        end(name, .failed, problem)
        for other in updates.plans[number]?.plan.devices.dropFirst() ?? [] {
          end(other, .cancelled, "the update of \(name) has failed")
        }
        updates.plans[number] = nil
        return keepPlans()
      }
    }
    updates.plans[number] = nil
    keepPlans()
  }

  /// Updates one device.
  ///
  /// - Returns: what the device has in the end.
  private func carryOut(
    _ plan: UpdatePlan, _ update: FirmwareUpdate, on name: String
  ) async throws -> UpdateProgress.Stage {
    change(name) { $0.stage = .connecting }
    let uploaded = try await again(name) { client in
      self.change(name) { $0.stage = .uploading }
      return try await update.upload(over: client) { self.happened($0, to: name) }
    }
    change(name) { $0.offset = $0.size }
    if uploaded == .running { return .updated }
    guard plan.starts else { return .uploaded }
    change(name) { $0.stage = .starting }
    try await again(name) { try await update.start(over: $0) }
    // The new firmware may have other services.
    await named[name]?.clearCache()
    let isConfirmed = try await again(name) {
      try await update.confirm(over: $0, keeps: plan.confirms)
    }
    return isConfirmed ? .updated : .tested
  }

  /// Does something over a link to a device, again as long as it can succeed.
  private func again<Value: Sendable>(
    _ name: String, _ body: nonisolated(nonsending) (SMPClient) async throws -> Value
  ) async throws -> Value {
    var attempts = Self.updateAttempts
    var furthest = updates.progress[name]?.offset ?? 0
    while true {
      let device = try device(named: name)
      do {
        try await beginTalk(with: name)
        defer { endTalk(with: name) }
        let use = device.here { $0.use(as: "update", holdsBack: true) }
        let carrier = try await DeviceCarrier(use, within: Self.updateLinkTime)
        return try await body(SMPClient(carrier))
      } catch {
        if Task.isCancelled { throw GatewayError.cancelled }
        var reason = error
        if case GatewayError.device(let error) = error { reason = error }
        // A configuration that was read again may have replaced the device.
        let isGone = [.notConnected(device: name), .released].contains(error as? GatewayError)
        let offset = updates.progress[name]?.offset ?? 0
        if offset > furthest { (attempts, furthest) = (Self.updateAttempts, offset) }
        attempts -= 1
        guard attempts > 0, isGone || FirmwareUpdate.isPassing(reason) else { throw reason }
        change(name) { $0.problem = "\(reason)" }
        try await loop.sleep(for: Self.updatePause)
      }
    }
  }

  private func beginTalk(with name: String) async throws(GatewayError) {
    while !updates.talks.insert(name).inserted {
      try await loop.withLocalWaiter { (waiter: Waiter<Void, GatewayError>) in
        guard updates.talks.contains(name) else { return waiter.resume(.success(())) }
        updates.talkers.append(waiter, for: name)
      }
    }
  }

  private func endTalk(with name: String) {
    updates.talks.remove(name)
    updates.talkers.resume(.success(())) { $0 == name }
  }

  // MARK: - News

  private func happened(_ event: FirmwareUpdate.Event, to device: String) {
    switch event {
    case .runs(let version): change(device) { $0.installed = version }
    case .resumes(let offset): log(.info, "\(device): goes on with the update at offset \(offset)")
    case .progress(let offset):
      guard var progress = updates.progress[device], !progress.stage.isEnd else { return }
      let before = progress.percentage
      (progress.offset, progress.problem) = (offset, nil)
      // A device answers hundreds of requests.
      if progress.percentage == before {
        updates.progress[device] = progress
      } else {
        tell(progress)
      }
    }
  }

  private func end(_ device: String, _ stage: UpdateProgress.Stage, _ problem: String? = nil) {
    change(device) {
      $0.stage = stage
      $0.problem = problem
      if stage == .updated || stage == .tested { $0.installed = $0.version }
    }
  }

  private func change(_ device: String, _ body: (inout UpdateProgress) -> Void) {
    // An update that was cancelled has nothing more to tell.
    guard var progress = updates.progress[device], !progress.stage.isEnd else { return }
    body(&progress)
    tell(progress)
  }

  private func tell(_ progress: UpdateProgress) {
    guard updates.progress[progress.device] != progress else { return }
    updates.progress[progress.device] = progress
    for watcher in updates.watchers.values { watcher.add(progress) }
  }

  // MARK: - The file

  private var planPath: String? { configuration.stateFolder.map { $0 + "/updates.json" } }

  /// The plans in a file; nil if there is none that can be read. Blocks on the disk.
  private static func plans(in path: String) -> [UpdatePlan]? {
    guard let octets = try? FileBytes.read(path, waits: false) else { return nil }
    return try? JSONParser.parse(octets).decode([UpdatePlan].self)
  }

  /// Writes the plans that are under way, one call after another.
  private func keepPlans() {
    Task(executorPreference: loop.tasks) { await self.keptPlans() }
  }

  /// Waits until the plans that are under way are written, or cannot be.
  private func keptPlans() async {
    updates.changes += 1
    let change = updates.changes
    while updates.written < change {
      guard !updates.isWriting else {
        let _: Void? = try? await loop.withLocalWaiter { (waiter: Waiter<Void, GatewayError>) in
          guard updates.isWriting else { return waiter.resume(.success(())) }
          updates.writers.append(waiter, for: change)
        }
        if Task.isCancelled { return }
        continue
      }
      guard let path = planPath else { return }
      updates.isWriting = true
      let (last, plans) = (
        updates.changes, updates.plans.sorted { $0.key < $1.key }.map(\.value.plan)
      )
      let failure = await Blocking.result(on: loop) { Self.write(plans, to: path) } ?? EAGAIN
      (updates.isWriting, updates.written) = (false, last)
      updates.writers.resumeAll(.success(()))
      guard failure != 0 else { continue }
      log(
        .warning,
        "updates do not go on after a restart: cannot write \(path): "
          + String(cString: strerror(failure)))
    }
  }

  /// - Returns: 0, or the number of the error.
  private static func write(_ plans: [UpdatePlan], to path: String) -> Int32 {
    if plans.isEmpty { return unlink(path) == 0 || errno == ENOENT ? 0 : errno }
    guard let text = (try? JSON(encoding: plans))?.text else { return EINVAL }
    return WholeFile.write(Array((text + "\n").utf8), to: path)
  }
}
