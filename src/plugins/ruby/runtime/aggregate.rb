# The aggregate filter: maps by task, which code fills, and events that are made of them.
module LogStash
  module Filters
    class Aggregate < Base
      CODE = "(aggregate filter code)"
      TIMEOUT_CODE = "(aggregate filter timeout_code)"
      FAILURE = "_aggregateexception"
      FINAL = "_aggregatefinalflush"

      # A map with what is known of it; scripts see it as `map_meta`.
      class Element
        attr_reader :creation_timestamp, :task_id, :map
        attr_accessor :lastevent_timestamp, :timeout, :inactivity_timeout, :created_at, :changed_at

        def initialize(creation_timestamp, task_id, map = {})
          @creation_timestamp = creation_timestamp
          @lastevent_timestamp = creation_timestamp
          @task_id = task_id
          @map = map
          @created_at = @changed_at = Time.now
        end
      end

      # Maps of all filters with the same pattern of task ids, by task id, the oldest first.
      MAPS = Hash.new { |all, pattern| all[pattern] = {} }
      # Tasks whose map was pushed since another task began are remembered, the last so many.
      MOST_REMEMBERED = 1000
      # The filter of each pattern that has the timeouts.
      KEEPERS = {}

      def initialize(spec)
        @id = spec["id"]
        @logger = Logger.new
        @spec = spec
        @pattern = spec["task_id"]
        @timeout = spec["timeout"]
        @inactivity_timeout = spec["inactivity_timeout"]
        @last_check = nil
        @counts = Hash.new(0)
        @pushed_early = {}
        KEEPERS[@pattern] = self if spec["keeps_time"] || !KEEPERS.key?(@pattern)
      end

      def prepare
        Spillway.define(nothing_local, "code", CODE, :on_event, "event, map, map_meta, &new_event_block", @spec["code"])
        Spillway.define(nothing_local, "timeout_code", TIMEOUT_CODE, :on_timeout, "event", @spec["timeout_code"])
      end

      def run(event, task_id)
        result = Spillway::Result.new(event)
        return result.ignore if task_id.nil?

        pushed = expired_by(event, task_id)
        element = maps[task_id]
        if element.nil? ? @spec["map_action"] == "update" : @spec["map_action"] == "create"
          result.ignore
        else
          pushed << push_previous if element.nil? && @spec["push_previous_map_as_event"] && !maps.empty?
          element ||= began(event, task_id)
          apply(result, event, element)
        end
        result.new_events.concat(pushed)
        result
      end

      # The events of maps that are too old now; at the `last` flush what is left is counted.
      def flush(last)
        events = KEEPERS[@pattern].equal?(self) && (last || due?) ? expired_now : []
        if KEEPERS[@pattern].equal?(self) && last
          events << push(*maps.shift) if @spec["push_previous_map_as_event"] && !maps.empty?
          events.each { |event| event.tag(FINAL) }
        end
        counts = @counts
        @counts = Hash.new(0)
        # Marshal writes a hash that has a default in another way.
        [events.map(&:parts), {}.merge(counts), maps.size]
      end

      def save(path)
        kept = MAPS.transform_values do |maps|
          maps.values.map { |e| [e.task_id, e.map, e.creation_timestamp, e.lastevent_timestamp, e.timeout, e.inactivity_timeout, e.created_at, e.changed_at] }
        end
        File.binwrite("#{path}.new", Marshal.dump(kept))
        File.rename("#{path}.new", path)
        nil
      rescue StandardError => e
        "#{e.message} (#{e.class})"
      end

      def restore(path)
        return unless File.size?(path)

        Marshal.load(File.binread(path)).each do |pattern, elements|
          elements.each do |id, map, created, last, timeout, inactivity, created_at, changed_at|
            element = Element.new(created, id, map)
            element.lastevent_timestamp = last
            element.timeout = timeout
            element.inactivity_timeout = inactivity
            element.created_at = created_at
            element.changed_at = changed_at
            MAPS[pattern][id] ||= element
          end
        end
        nil
      rescue StandardError => e
        "#{e.message} (#{e.class})"
      end

      private

      def nothing_local
        binding
      end

      def maps
        MAPS[@pattern]
      end

      def push_previous
        task_id, element = maps.shift
        @pushed_early.shift if @pushed_early.size >= MOST_REMEMBERED
        @pushed_early[task_id] = true
        push(task_id, element)
      end

      def began(event, task_id)
        if @pushed_early.delete(task_id)
          @logger.warn("the task `#{task_id}` goes on after its map was pushed, since another task began: " \
                       "push_previous_map_as_event needs events that are sorted by task, and one worker")
        end
        element = maps[task_id] = Element.new(reference(event), task_id)
        most = @spec["map_count_warning_threshold"]
        if maps.size == most + 1
          @logger.warn("more than #{most} maps of `#{@pattern}` at a time: is `end_of_task` or `timeout` missing, or too large?")
        end
        element
      end

      def apply(result, event, element)
        element.lastevent_timestamp = reference(event)
        element.changed_at = Time.now
        begin
          on_event(event, element.map, element) do |created|
            raise TypeError, "an Event was expected, not #{created.class}" unless created.is_a?(Event)

            result.new_events << created
          end
        rescue Exception => e
          @counts["code_errors"] += 1
          result.fail(e)
        end
        maps.delete(element.task_id) if @spec["end_of_task"]
      end

      # The time of an event: of its field, if ages are measured so.
      def reference(event)
        field = @spec["timeout_timestamp_field"]
        time = field && event.get(field)
        time.is_a?(Timestamp) ? time.time : Time.now
      end

      def expired_by(event, task_id)
        return [] unless @spec["timeout_timestamp_field"]

        element = maps[task_id]
        return [] if element.nil? || !old?(element, reference(event), element.creation_timestamp, element.lastevent_timestamp)

        maps.delete(task_id)
        expire(task_id, element)
      end

      def expired_now
        now = Time.now
        @last_check = now
        old = maps.select { |_, element| old?(element, now, element.created_at, element.changed_at) }
        old.each_key { |task_id| maps.delete(task_id) }
        old.flat_map { |task_id, element| expire(task_id, element) }
      end

      def due?
        @last_check.nil? || Time.now > @last_check + (@inactivity_timeout / 2.0)
      end

      def old?(element, now, created, changed)
        created < now - (element.timeout || @timeout) || changed < now - (element.inactivity_timeout || @inactivity_timeout)
      end

      def expire(task_id, element)
        @counts["task_timeouts"] += 1
        return [] unless @spec["push_previous_map_as_event"] || @spec["push_map_as_event_on_timeout"]

        [push(task_id, element)]
      end

      # A new event of a map.
      def push(task_id, element)
        @counts["pushed_events"] += 1
        event = Event.new(storable(element.map))
        begin
          event.set(@spec["timeout_task_id_field"], task_id) if @spec["timeout_task_id_field"]
          @spec["timeout_tags"].each { |tag| event.tag(event.sprintf(tag)) }
          on_timeout(event)
        rescue Exception => e
          @counts["timeout_code_errors"] += 1
          @logger.error("Aggregate exception occurred. Error: #{e.message} (#{e.class})")
          event.tag(FAILURE)
        end
        event
      end

      # What an event cannot hold becomes a text: the map is gone otherwise.
      def storable(map)
        map.each_with_object({}) do |(name, value), fields|
          fields[name.to_s] = Spillway::Values.plain(value)
        rescue TypeError
          fields[name.to_s] = value.inspect
        end
      end
    end
  end
end
